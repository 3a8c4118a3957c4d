
PATIENCE=10
OPTIONS=()
while [ $# -gt 0 ]; do
  case $1 in
    --runs) RUNS=$2; shift ;;
    --cacert) OPTIONS+=(--cacert "$2"); shift ;;
    -k | --insecure) OPTIONS+=(-k) ;;
    -h | --help) echo "usage: $0 [URL] [--runs N] [--cacert FILE] [--insecure]"; exit 2 ;;
    *) URL=$1 ;;
  esac
  shift
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
  local times
  for ((times = 0; times < $3; times++)); do printf %s "$2"; done > "$DIR/$1"
  printf %s "$4" >> "$DIR/$1"
}

# ask NUMBER PATH OPTIONS...: sends a request
ask() {
  local number=$1 path=$2
  shift 2
  curl -s -g --path-as-is --http1.1 --max-time "$PATIENCE" "${OPTIONS[@]}" -D "$DIR/$number.head" -o "$DIR/$number.body" \
    -H 'Accept-Encoding: identity' -H 'Accept:' -H 'User-Agent:' -H 'Content-Type:' -H 'Expect:' "$@" "$ROOT$path"
  echo $? > "$DIR/$number.code"
}

# field NUMBER NAME: its value in the answer
field() { grep -i "^$2:" "$DIR/$1.head" | sed -E 's/^[^:]*:[[:space:]]*//; s/[[:space:]]*$//'; }
opaque() { field "$1" ETag | sed -nE 's/^(W\/)?"(.*)"$/\2/p'; }

# answer NUMBER THEN: looks at the answer; THEN is what came when this was recorded
answer() {
  local code
  code=$(cat "$DIR/$1.code")
  STATUS=$(sed -nE '1s/^HTTP\/[0-9.]+ ([0-9]+).*/\1/p' "$DIR/$1.head" 2> /dev/null)
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

is() { [ "$(field "$1" "$2")" = "$3" ] || not_shown "$2: $(field "$1" "$2")"; }
lacks() { ! grep -qi "^$2:" "$DIR/$1.head" || not_shown "there is $2"; }
weak() { field "$1" ETag | grep -q '^W/"' || not_shown "the tag is not weak"; }
strong() { field "$1" ETag | grep -q '^"' || not_shown "the tag is not strong"; }
same_tag() { [ "$(opaque "$1")" = "$(opaque "$2")" ] || not_shown "the tag is another one"; }
other_tag() { [ "$(opaque "$1")" != "$(opaque "$2")" ] || not_shown "the tag is one that was told before"; }

# body NUMBER in|not_in FILES...
body() {
  local number=$1 wanted=$2 found=not_in each
  shift 2
  [ -z "$(field "$number" Content-Encoding)" ] || cannot_tell "the content is coded"
  touch "$DIR/$number.body"
  for each in "$@"; do
    [ "$(cat "$DIR/$number.body"; echo .)" = "$(cat "$DIR/$each"; echo .)" ] && found=in
  done
  [ "$found" = "$wanted" ] || not_shown "the content is another one"
}

failed=0
for ((run = 1; run <= RUNS; run++)); do
  [ "$RUNS" -gt 1 ] && echo "run $run of $RUNS"
  NAME=$(printf '%04x%04x%04x%04x' $RANDOM $RANDOM $RANDOM $RANDOM)
  CASE=$(printf %s "$URL" | sed -E 's|^[a-z]+://[^/]*||; s|/*$||')/confute-$NAME
  rm -f "$DIR"/*
  (steps; exit 1)
  case $? in
    1) echo "FAULT SHOWN: $WHAT"; exit 1 ;;
    0) ;;
    *) failed=$((failed + 1)); [ "$failed" -ge 3 ] && break ;;
  esac
done
[ "$failed" -gt 0 ] && { echo "CANNOT TELL whether the server still does this: $WHAT"; exit 3; }
echo "not shown: $WHAT"
exit 0
