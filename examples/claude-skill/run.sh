#!/bin/sh
# Keep or cut a skill, measured with the real claude CLI. Options are kcut's: sh run.sh --json
set -eu
here=$(cd "$(dirname "$0")" && pwd)

claude=${KCUT_E2E_CLAUDE:-}
for found in "$here"/../../tests/agents/node_modules/@anthropic-ai/claude-code-*/claude "$(command -v claude || :)"; do
  if [ -z "$claude" ] && [ -x "$found" ]; then claude=$found; fi
done
if [ -z "$claude" ]; then
  echo "this example needs the claude CLI: npm ci --ignore-scripts in tests/agents, or KCUT_E2E_CLAUDE=PATH" >&2
  exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# a small project whose skill is the component
cp -R "$here/project" "$work/project"
cd "$work/project"
mkdir -p .claude/skills/changelog
mv SKILL.md .claude/skills/changelog/
git init -q
git add .
git -c user.name=you -c user.email=you@example.org -c commit.gpgsign=false commit -q -m 'A project with a skill'

# model.py answers claude while this runs; without `python3 .../model.py` in front it would be your model, and your money
python3 "$here/model.py" kcut benchmark --component changelog --agent claude --agent-executable "$claude" \
  --prompt-file task.md --spec spec.md --history none --k 5 --seed 1 --jobs 2 "$@"
