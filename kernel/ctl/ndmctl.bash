# Completion of ndmctl for bash.
_ndmctl()
{
	local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} folder=/usr/lib/ndm/models
	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "load unload status models use remove verify watch trace default route doctor" -- "$word")
		return
	fi
	case $command in
	load) mapfile -t COMPREPLY < <(compgen -W "--module" -- "$word"; compgen -f -X '!*.o' -- "$word");;
	remove) mapfile -t COMPREPLY < <(compgen -W "$(cd /sys/module/tcp_ndm 2>/dev/null && echo ndm_*)" -- "$word");;
	status|watch) mapfile -t COMPREPLY < <(compgen -W "--json" -- "$word");;
	use|verify) mapfile -t COMPREPLY < <(
		compgen -W "builtin $(cd "$folder" 2>/dev/null && printf '%s\n' *.bin | sed 's/\.bin$//')" -- "$word"
		compgen -f -X '!*.bin' -- "$word");;
	default) mapfile -t COMPREPLY < <(compgen -W "on off" -- "$word");;
	route) mapfile -t COMPREPLY < <(compgen -W "add" -- "$word");;
	esac
}
complete -o filenames -F _ndmctl ndmctl
