#include <unistd.h>
__attribute__((noinline)) void hit(void)
{
	__asm__ volatile("");
}
int main(void)
{
	for (;;) {
		for (int i = 0; i < 100000; i++)
			hit();
		usleep(1000);
	}
}
