# SPDX-License-Identifier: MIT
# Completion of perch in fish. 'perch help --complete' has the words.

function __perch_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for line in ($words[1] help --complete $words[2..] "$word" 2>/dev/null)
        set -l prefix (string replace -r '^:\S+ ' '' -- $line)
        set -l rest (string sub -s (math 1 + (string length -- "$prefix")) -- "$word")
        switch $line
            case ':files *'
                printf '%s\n' "$prefix"(__fish_complete_path "$rest")
            case ':directories *'
                printf '%s\n' "$prefix"(__fish_complete_directories "$rest" '')
            case ':program *'
                set -l program $words[(math 1 + $prefix)..]
                complete -C (string join ' ' -- (string escape -- $program) "$word")
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c perch -f -a '(__perch_complete)'
