
# Bytes are bytes.
export LC_ALL=C
PATIENCE=10
# How long all runs may take together, in seconds.
TIME=50
OPTIONS=()
usage() { echo "usage: $0 [URL] [--runs N] [--time SECONDS] [--cacert FILE] [--insecure]"; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --runs) RUNS=$2; shift ;;
    --time) TIME=$2; shift ;;
    --cacert) OPTIONS+=(--cacert "$2"); shift ;;
    -k | --insecure) OPTIONS+=(-k) ;;
    -h | --help) usage ;;
    *) URL=$1 ;;
  esac
  shift
done
case $URL in http://* | https://*) ;; *) echo "$URL: a URL begins with http:// or https://"; usage ;; esac
case $TIME in '' | 0* | *[!0-9]* | ??????????*) echo "--time $TIME: not a number of seconds"; usage ;; esac
case $RUNS in '' | 0* | *[!0-9]* | ??????????*) echo "--runs $RUNS: not a number of runs"; usage ;; esac
for tool in curl sed grep tr cmp mktemp; do
  command -v "$tool" > /dev/null || { echo "cannot tell: there is no $tool"; exit 3; }
done
for name in "${SECRETS[@]}"; do
  [ -n "${!name+set}" ] || { echo "cannot tell: set $name to what the server wants to be told"; exit 3; }
done
ROOT=$(printf %s "$URL" | sed -E 's|^([a-z]+://[^/]*).*|\1|')
[ -n "$HOST" ] && OPTIONS+=(-H "Host: $HOST")
DIR=$(mktemp -d) || exit 3
trap 'rm -rf "$DIR"' EXIT

not_shown() { echo "  not as then: $*"; exit 0; }
cannot_tell() { echo "  cannot tell: $*"; exit 3; }

# content FILE TEXT TIMES REST: writes the text so many times, then the rest
content() {
  local text= unit=$2 times=$3
  while [ "$times" -gt 0 ]; do
    [ $((times % 2)) = 1 ] && text+=$unit
    unit+=$unit times=$((times / 2))
  done
  printf %s "$text$4" > "$DIR/$1"
}

# left: how many seconds there are for what is waited for now
left() {
  local left=$((TIME - SECONDS))
  [ "$left" -lt 1 ] && left=1
  [ "$left" -gt "$PATIENCE" ] && left=$PATIENCE
  echo "$left"
}

# pause SECONDS: waits, but not for longer than there is time
pause() { [ "$SECONDS" -ge "$TIME" ] || sleep "$1"; }

# ask NUMBER PATH OPTIONS...: sends a request
ask() {
  local number=$1 path=$2
  shift 2
  [ "$SECONDS" -ge "$TIME" ] && { echo 28 > "$DIR/$number.code"; return; }
  # Whoever has a proxy, or settings of their own, means something else.
  curl -q --noproxy '*' -s -g --path-as-is --http1.1 --max-time "$(left)" "${OPTIONS[@]}" \
    -D "$DIR/$number.head" -o "$DIR/$number.body" \
    -H 'Accept-Encoding: identity' -H 'Accept:' -H 'User-Agent:' -H 'Content-Type:' -H 'Expect:' "$@" "$ROOT$path"
  echo $? > "$DIR/$number.code"
}

# field NUMBER NAME: its value in the answer
field() { grep -ai "^$2:" "$DIR/$1.head" | sed -E 's/^[^:]*:[[:space:]]*//; s/[[:space:]]*$//'; }
opaque() { field "$1" ETag | sed -nE 's/^(W\/)?"(.*)"$/\2/p'; }

# answer NUMBER THEN: looks at the answer; THEN is what came when this was recorded
answer() {
  local code head="$DIR/$1.head"
  code=$(cat "$DIR/$1.code")
  # The last head, without what came before it or after the content.
  touch "$head"
  sed -n -e H -e '/^HTTP\//h' -e '${x;s/\n[[:space:]]*\n.*//;p;}' "$head" > "$head.last"
  mv "$head.last" "$head"
  STATUS=$(sed -nE '1s/^HTTP\/[0-9.]+ ([0-9]+).*/\1/p' "$head")
  echo "  $1: $STATUS, ETag: $(field "$1" ETag)"
  echo "  then: $2"
  [ "$code" = 0 ] && [ -n "$STATUS" ] || cannot_tell "curl exits with $code: no whole answer came"
}

# status REFUSALS ALLOWED...: the status of the last answer
status() {
  local refusals=$1 each
  shift
  for each in "$@"; do [ "$STATUS" = "$each" ] && return; done
  case " $refusals " in *" $STATUS "*) cannot_tell "the server refuses: status $STATUS, not $*" ;; esac
  [ "$STATUS" -ge 500 ] && cannot_tell "the server fails: status $STATUS"
  not_shown "status $STATUS, not $*"
}

# wrote RIGHT ALLOWED...: the same for a write that was done then; other refusals than those that may be RIGHT tell nothing
wrote() {
  local right=" $1 " refusals=$STATUS
  shift
  [[ $STATUS == 2?? || $right == *" $STATUS "* ]] && refusals=
  status "$refusals" "$@"
}

is() { [ "$(field "$1" "$2")" = "$3" ] || not_shown "$2: $(field "$1" "$2")"; }
has() { [ -n "$(field "$1" "$2")" ] || cannot_tell "there is no $2"; }
lacks() { ! grep -qai "^$2:" "$DIR/$1.head" || not_shown "there is $2"; }
weak() { field "$1" ETag | grep -qa '^W/"' || not_shown "the tag is not weak"; }
strong() { field "$1" ETag | grep -qa '^"' || not_shown "the tag is not strong"; }
same_tag() { [ "$(opaque "$1")" = "$(opaque "$2")" ] || not_shown "the tag is another one"; }
other_tag() { [ "$(opaque "$1")" != "$(opaque "$2")" ] || not_shown "the tag is one that was told before"; }

# plain NUMBER: whether the content is not coded, so that it can be compared
plain() {
  case $(field "$1" Content-Encoding | tr A-Z a-z) in '' | identity) ;; *) cannot_tell "the content is coded" ;; esac
  case $(field "$1" Transfer-Encoding | tr A-Z a-z) in '' | chunked) ;; *) cannot_tell "the content is coded" ;; esac
}

# body NUMBER in|not_in FILES...
body() {
  local number=$1 wanted=$2 found=not_in each
  shift 2
  touch "$DIR/$number.body"
  for each in "$@"; do
    cmp -s "$DIR/$number.body" "$DIR/$each" && found=in
  done
  [ "$found" = "$wanted" ] || not_shown "the content is another one"
}

failed=0 ran=0
for ((run = 1; run <= RUNS; run++)); do
  [ "$run" -gt 1 ] && [ "$SECONDS" -ge "$TIME" ] && { echo "no time is left after $((run - 1)) runs"; break; }
  [ "$RUNS" -gt 1 ] && echo "run $run of $RUNS"
  ran=$run
  NAME=$(printf '%04x%04x%04x%04x' $RANDOM $RANDOM $RANDOM $RANDOM)
  CASE=$(printf %s "$URL" | sed -E 's|^[a-z]+://[^/]*||; s|/*$||')/confute-$NAME
  rm -f "$DIR"/*
  (steps; exit 1)
  case $? in
    1) echo "FAULT SHOWN: $WHAT"; exit 1 ;;
    0) ;;
    # A run that was cut short says nothing against others that were not.
    *) [ "$SECONDS" -ge "$TIME" ] && [ "$run" -gt 1 ] || failed=$((failed + 1))
      [ "$failed" -ge 3 ] && [ "$failed" = "$run" ] && break ;;
  esac
done
[ $((2 * failed)) -gt "$ran" ] && { echo "CANNOT TELL whether the server still does this: $WHAT"; exit 3; }
echo "not shown: $WHAT"
exit 0
