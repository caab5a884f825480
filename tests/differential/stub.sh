#!/usr/bin/bash
# Stands for every program that a launcher starts: records how it was called, and answers what the launcher needs to go on.
call=/record/$EPOCHREALTIME.$$
name=${0##*/}
{ printf '%s\0' "$name" "$PWD" "$#" "$@"; /usr/bin/env -0; } > "$call.part"
case $name in
  python3)
    if [[ ${1-} == - ]]; then /usr/bin/cat > "$call.stdin"; fi ;;
  mpirun | trtllm-serve | vllm | sglang) # files that configure an engine
    for word; do
      word=${word#--*=}
      if [[ -f $word && $word == *.@(yml|yaml|json) ]]; then /usr/bin/cat "$word" >> "$call.recipe"; fi
    done ;;
  sbatch)
    file=
    for word; do if [[ $word != -* ]]; then file=$word; break; fi; done
    if [[ -z $file ]]; then /usr/bin/cat > "$call.stdin"; fi ;;
  srtctl)
    if [[ ${1-} == apply ]]; then
      file=
      for ((i = 2; i <= $#; i++)); do
        next=$((i + 1))
        case ${!i} in
          -f | --file) file=${!next-} ;;
          --file=*) file=${!i#*=} ;;
        esac
      done
      if [[ ! -f $file && $file == *:* ]]; then file=${file%:*}; fi
      if [[ -f $file ]]; then /usr/bin/cp "$file" "$call.recipe"; fi
      if [[ -f srtslurm.yaml ]]; then /usr/bin/cp srtslurm.yaml "$call.cluster"; fi
    fi ;;
esac
/usr/bin/mv "$call.part" "$call.call"
case $name in
  git)
    directory=
    while [[ ${1-} == -* ]]; do
      case $1 in
        -C) directory=$2; shift 2 ;;
        -c) shift 2 ;;
        *) shift ;;
      esac
    done
    [[ -z $directory ]] || cd "$directory" || exit 128
    real=(/usr/bin/git -c safe.directory='*' -c advice.detachedHead=false)
    if [[ -d .git/objects ]]; then # made from a local clone: the true git answers, but for what needs a network
      case ${1-} in
        clone) ;;
        fetch | pull | push | submodule | lfs) exit 0 ;;
        *) exec "${real[@]}" "$@" ;;
      esac
    fi
    case ${1-} in
      clone)
        shift
        words=() branch=()
        while (($#)); do
          case $1 in
            --branch | -b) branch=(--branch "$2"); shift ;;
            --branch=*) branch=("$1") ;;
            --depth | --reference | --filter | --origin | -o) shift ;;
            -*) ;;
            *) words+=("$1") ;;
          esac
          shift
        done
        target=${words[1]-}
        [[ -n $target ]] || { target=${words[0]##*/}; target=${target%.git}; }
        if [[ -e $target && -n $(/usr/bin/ls -A "$target") ]]; then echo "fatal: destination path '$target' already exists" >&2; exit 128; fi
        key=${words[0]%/}
        key=${key%.git}
        key=${key//:/\/}
        owner=${key%/*}
        owner=${owner##*/}
        key=${key##*/}
        both=${owner,,}+${key,,}.git
        if [[ -d /upstream/$both ]]; then exec "${real[@]}" clone -q --shared "${branch[@]}" "/upstream/$both" "$target"; fi
        /usr/bin/mkdir -p "$target/.git"
        if [[ -d /upstream/$key ]]; then /usr/bin/cp -a "/upstream/$key/." "$target/"; fi ;;
      checkout)
        for word; do [[ $word == -* ]] || last=$word; done
        [[ ! -d .git ]] || printf '%s\n' "$last" > .git/stub-head ;;
      rev-parse)
        case "$*" in
          *--show-toplevel*) pwd ;;
          *) if [[ -f .git/stub-head ]]; then /usr/bin/cat .git/stub-head; else printf '%040d\n' 0; fi ;;
        esac ;;
    esac ;;
  srtctl) if [[ ${1-} == apply ]]; then echo "Job 12345 submitted"; fi ;;
  sbatch)
    case " $* " in
      *" --parsable "*) echo 12345 ;;
      *) echo "Submitted batch job 12345" ;;
    esac ;;
  squeue) if [[ -e /record/allocated && " $* " == *" -h "* ]]; then echo 12345; fi ;;
  scancel) /usr/bin/rm -f /record/allocated ;;
  salloc) : > /record/allocated; echo "salloc: Granted job allocation 12345" >&2 ;;
  uv)
    if [[ ${1-} == pip && " $* " == *" --python /"* ]]; then # what is installed into an environment leaves its program there
      bin=$*
      bin=${bin#*--python }
      bin=${bin%% *}
      for word in "${@:3}"; do
        program=${word##*/}
        program=${program%%[!A-Za-z0-9_-]*}
        if [[ $program == huggingface_hub ]]; then program=hf; fi
        if [[ -n $program && -d ${bin%/*} ]]; then /usr/bin/ln -sf /stubs/stub "${bin%/*}/$program"; fi
      done
    fi
    if [[ ${1-} == venv ]]; then
      shift
      target=.venv
      while (($#)); do
        case $1 in
          --python | -p) shift ;;
          -*) ;;
          *) target=$1 ;;
        esac
        shift
      done
      /usr/bin/mkdir -p "$target/bin"
      : > "$target/bin/activate"
    fi ;;
  curl)
    # the installer of uv leaves a file that launchers source
    if [[ "$*" == *astral.sh/uv* ]]; then
      echo 'bin=${UV_INSTALL_DIR:-$HOME/.local/bin}; mkdir -p "$bin"; : > "$bin/env"'
    fi ;;
  rsync)
    from=${*: -2:1}
    to=${*: -1}
    if [[ -d $from ]]; then
      /usr/bin/mkdir -p "$to"
      if [[ $from == */ ]]; then /usr/bin/cp -a "$from." "$to/"; else /usr/bin/cp -a "$from" "$to/"; fi
    fi ;;
  hf) if [[ ${1-} == download ]]; then echo "/models/stub"; fi ;;
esac
if [[ -e /record/stop && ($name == sbatch || ($name == srtctl && ${1-} == apply)) ]]; then kill -KILL -1; fi
exit 0
