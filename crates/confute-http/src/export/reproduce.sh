
# Text is compared byte by byte.
export LC_ALL=C
PATIENCE=10
# Timeout for all runs together, in seconds.
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
case $URL in http://* | https://*) ;; *) echo "$URL: expected a URL that begins with http:// or https://"; usage ;; esac
case $TIME in '' | 0* | *[!0-9]* | ??????????*) echo "--time $TIME: expected a number of seconds"; usage ;; esac
case $RUNS in '' | 0* | *[!0-9]* | ??????????*) echo "--runs $RUNS: expected a number of runs"; usage ;; esac
for tool in curl sed grep tr cmp mktemp; do
  command -v "$tool" > /dev/null || { echo "undecided: $tool is not installed"; exit 3; }
done
for name in "${SECRETS[@]}"; do
  [ -n "${!name+set}" ] || { echo "undecided: set $name to the value of this request field"; exit 3; }
done
ROOT=$(printf %s "$URL" | sed -E 's|^([a-z]+://[^/]*).*|\1|')
[ -n "$HOST" ] && OPTIONS+=(-H "Host: $HOST")
DIR=$(mktemp -d) || exit 3
trap 'rm -rf "$DIR"' EXIT

not_reproduced() { echo "  not reproduced: $*"; exit 0; }
undecided() { echo "  undecided: $*"; exit 3; }

# content FILE TEXT TIMES REST: writes TEXT as often as TIMES says, then REST
content() {
  local text= unit=$2 times=$3
  while [ "$times" -gt 0 ]; do
    [ $((times % 2)) = 1 ] && text+=$unit
    unit+=$unit times=$((times / 2))
  done
  printf %s "$text$4" > "$DIR/$1"
}

# left: prints the current timeout in seconds
left() {
  local left=$((TIME - SECONDS))
  [ "$left" -lt 1 ] && left=1
  [ "$left" -gt "$PATIENCE" ] && left=$PATIENCE
  echo "$left"
}

# pause SECONDS: waits, unless the time limit is reached
pause() { [ "$SECONDS" -ge "$TIME" ] || sleep "$1"; }

# ask NUMBER PATH OPTIONS...: sends a request
ask() {
  local number=$1 path=$2
  shift 2
  [ "$SECONDS" -ge "$TIME" ] && { echo 28 > "$DIR/$number.code"; return; }
  # Proxies and curl's configuration file of the user are ignored: they would change the requests.
  curl -q --noproxy '*' -s -g --path-as-is --http1.1 --max-time "$(left)" "${OPTIONS[@]}" \
    -D "$DIR/$number.head" -o "$DIR/$number.body" \
    -H 'Accept-Encoding: identity' -H 'Accept:' -H 'User-Agent:' -H 'Content-Type:' -H 'Expect:' "$@" "$ROOT$path"
  echo $? > "$DIR/$number.code"
}

# field NUMBER NAME: prints the value of a field in the response
field() { grep -ai "^$2:" "$DIR/$1.head" | sed -E 's/^[^:]*:[[:space:]]*//; s/[[:space:]]*$//'; }
opaque() { field "$1" ETag | sed -nE 's/^(W\/)?"(.*)"$/\2/p'; }

# answer NUMBER THEN: reads the response; THEN is the recorded one
answer() {
  local code head="$DIR/$1.head"
  code=$(cat "$DIR/$1.code")
  # Keep only the last head, without interim responses and trailer fields.
  touch "$head"
  sed -n -e H -e '/^HTTP\//h' -e '${x;s/\n[[:space:]]*\n.*//;p;}' "$head" > "$head.last"
  mv "$head.last" "$head"
  STATUS=$(sed -nE '1s/^HTTP\/[0-9.]+ ([0-9]+).*/\1/p' "$head")
  echo "  $1: $STATUS, ETag: $(field "$1" ETag)"
  echo "  recorded: $2"
  [ "$code" = 0 ] && [ -n "$STATUS" ] || undecided "curl exits with $code: no complete response arrived"
}

# status REFUSALS ALLOWED...: compares the status of the last response; those in REFUSALS are undecided
status() {
  local refusals=$1 each
  shift
  for each in "$@"; do [ "$STATUS" = "$each" ] && return; done
  case " $refusals " in *" $STATUS "*) undecided "the server refuses: status $STATUS, not $*" ;; esac
  [ "$STATUS" -ge 500 ] && undecided "the server fails: status $STATUS"
  not_reproduced "status $STATUS, not $*"
}

# wrote RIGHT ALLOWED...: compares the status of a write that was performed in the recording; refusals are undecided,
# except those in RIGHT, which may be correct
wrote() {
  local right=" $1 " refusals=$STATUS
  shift
  [[ $STATUS == 2?? || $right == *" $STATUS "* ]] && refusals=
  status "$refusals" "$@"
}

is() { [ "$(field "$1" "$2")" = "$3" ] || not_reproduced "$2: $(field "$1" "$2")"; }
has() { [ -n "$(field "$1" "$2")" ] || undecided "$2 is missing"; }
lacks() { ! grep -qai "^$2:" "$DIR/$1.head" || not_reproduced "the response has $2"; }
weak() { field "$1" ETag | grep -qa '^W/"' || not_reproduced "the tag is not weak"; }
strong() { field "$1" ETag | grep -qa '^"' || not_reproduced "the tag is not strong"; }
same_tag() { [ "$(opaque "$1")" = "$(opaque "$2")" ] || not_reproduced "the tag is different"; }
other_tag() { [ "$(opaque "$1")" != "$(opaque "$2")" ] || not_reproduced "the tag was sent before"; }

# plain NUMBER: checks that the content is not coded, so that it can be compared
plain() {
  case $(field "$1" Content-Encoding | tr A-Z a-z) in '' | identity) ;; *) undecided "the content is coded" ;; esac
  case $(field "$1" Transfer-Encoding | tr A-Z a-z) in '' | chunked) ;; *) undecided "the content is coded" ;; esac
}

# body NUMBER in|not_in FILES...: compares the content with these files
body() {
  local number=$1 wanted=$2 found=not_in each
  shift 2
  touch "$DIR/$number.body"
  for each in "$@"; do
    cmp -s "$DIR/$number.body" "$DIR/$each" && found=in
  done
  [ "$found" = "$wanted" ] || not_reproduced "the content differs from the recorded violation"
}

failed=0 ran=0
for ((run = 1; run <= RUNS; run++)); do
  [ "$run" -gt 1 ] && [ "$SECONDS" -ge "$TIME" ] && { echo "time limit reached after $((run - 1)) runs"; break; }
  [ "$RUNS" -gt 1 ] && echo "run $run of $RUNS"
  ran=$run
  NAME=$(printf '%04x%04x%04x%04x' $RANDOM $RANDOM $RANDOM $RANDOM)
  CASE=$(printf %s "$URL" | sed -E 's|^[a-z]+://[^/]*||; s|/*$||')/confute-$NAME
  rm -f "$DIR"/*
  (steps; exit 1)
  case $? in
    1) echo "VIOLATION REPRODUCED: $WHAT"; exit 1 ;;
    0) ;;
    # A run that exceeded the time limit does not count against complete runs.
    *) [ "$SECONDS" -ge "$TIME" ] && [ "$run" -gt 1 ] || failed=$((failed + 1))
      [ "$failed" -ge 3 ] && [ "$failed" = "$run" ] && break ;;
  esac
done
[ $((2 * failed)) -gt "$ran" ] && { echo "UNDECIDED: $WHAT"; exit 3; }
echo "not reproduced: $WHAT"
exit 0
