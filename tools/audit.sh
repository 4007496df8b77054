#!/bin/sh
# Looks for known weaknesses: in our code (bandit), and in what we depend on (pip-audit, npm audit).
# A database that cannot be reached from here is said in a sentence, and is no success of its own:
# the exit code is 1 for a finding, 3 where something could not be looked at, else 0.
set -u
BIN=${BIN:-.venv/bin}
result=0
worse() { [ "$result" = 1 ] || result=$1; }

echo "bandit: our code; a line that was reviewed has # nosec and the number of the finding"
answer=$("$BIN/bandit" -q -r src -ll 2>&1) || worse 1
# bandit warns of a reviewed line again for each part of it that has no finding.
printf '%s\n' "$answer" | grep -v 'nosec encountered .* but no failed test'

echo "pip-audit: Python packages of this environment"
answer=$(timeout 300 "$BIN/pip-audit" --timeout 5 --local --skip-editable --progress-spinner off 2>&1)
code=$?
unknown=$(printf '%s\n' "$answer" | grep -c 'could not be audited')
case $answer in
  *"Found "*) printf '%s\n' "$answer" | grep -v 'could not be audited'; worse 1 ;;
  *)
    if [ "$unknown" -gt 0 ]; then
      echo "not audited: PyPI's database has no answer here for $unknown packages; run this where it has."
      worse 3
    elif [ "$code" != 0 ]; then
      echo "not audited: PyPI's database cannot be reached from here; run this where it can."
      worse 3
    else
      printf '%s\n' "$answer"
    fi ;;
esac

echo "npm audit: packages of the page"
if ! answer=$(cd web && timeout 120 npm audit --fetch-retries=0 --omit=dev 2>&1); then
  case $answer in
    *"severity vulnerabilit"*|*"vulnerabilities ("*) printf '%s\n' "$answer"; worse 1 ;;
    *) echo "not audited: the registry of npm does not answer audits from here; run this where it does."
       worse 3 ;;
  esac
else
  printf '%s\n' "$answer"
fi
exit "$result"
