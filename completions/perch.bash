# SPDX-License-Identifier: MIT
# Completion of perch in bash. 'perch help --complete' has the words.

_perch()
{
	local line=${COMP_LINE:0:COMP_POINT} words=() at=() found=() kept=0 perch prefix rest word i

	# bash splits words at = and : too: they are put together again. kept: what bash keeps of the last one
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		rest=${line#"${line%%[![:space:]]*}"}
		[[ $rest == "$word"* ]] || word=$rest
		if [[ $rest == "$line" && ${#words[@]} -gt 0 ]]; then
			kept=${#words[-1]}
			words[-1]+=$word
			[[ $word != [=:] ]] || kept=${#words[-1]}
		else
			kept=0
			words+=("$word")
			at+=("$i")
		fi
		line=${rest#"$word"}
	done
	perch=${words[0]/#\~/$HOME}
	while IFS= read -r line; do
		prefix=${line#:* }
		rest=${words[-1]:${#prefix}}
		case $line in
		:files\ * | :directories\ *)
			compopt -o filenames
			word=-f
			[[ $line != :d* ]] || word=-d
			while IFS= read -r rest; do
				COMPREPLY+=("${prefix:kept}$rest")
			done < <(compgen $word -- "$rest")
			;;
		:program\ *[!0-9]*) ;; # an index of an array may have commands
		:program\ *)
			found=("${COMPREPLY[@]}")
			if declare -F _command_offset > /dev/null; then
				_command_offset "${at[prefix]}"
			elif ((prefix == ${#words[@]} - 1)); then
				mapfile -t COMPREPLY < <(compgen -c -- "${words[-1]}")
			fi
			COMPREPLY=("${found[@]}" "${COMPREPLY[@]}")
			;;
		*)
			line=${line%%$'\t'*}
			# the name of an event may be a command: what a file adds to the word is quoted
			rest=${line:${#words[-1]}}
			[[ $rest != *[^[:alnum:]_.,:/=@%+-]* ]] || printf -v rest %q "$rest"
			COMPREPLY+=("${words[-1]:kept}$rest")
			;;
		esac
	done < <("$perch" help --complete "${words[@]:1}" 2> /dev/null)
} &&
	complete -o bashdefault -F _perch perch
