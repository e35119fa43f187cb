import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { beforeEach, expect, it } from '@jest/globals'
import { newFolder } from './fixtures/at-end.ts'
import { eventually } from './fixtures/eventually.ts'

const folder = newFolder()
const { FHIR_TEST_FULL: _, ...environment } = process.env
const env = { ...environment, PATH: `${folder}${delimiter}${process.env.PATH}` }
const calls = (): readonly string[] => readFileSync(join(folder, 'calls'), 'utf8').split('\n').slice(0, -1)

beforeEach(() => {
  writeFileSync(join(folder, 'calls'), '')
  program('git', 'echo 0123456789')
})

/** Writes a program that takes the place of the one on the path. */
function program(name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
  chmodSync(join(folder, name), 0o755)
}

it('runs whole loops, with a deployment or two OpenSearch nodes where the tests need them', () => {
  program('npm', `echo "$FHIR_TEST_FULL $*" >> '${folder}/calls'`)
  program('node', `echo "node $*" >> '${folder}/calls'`)
  spawnSync(process.execPath, ['test/night.ts', 'loops'], { env })
  expect(calls()).toContain(' run test:full -- test/search/fuzz.test.ts')
  expect(calls()).toContain(' run test:full -- test/adapters/sqlite/search-index.test.ts')
  expect(calls().filter((call) => call.includes('test/cloud/'))).toEqual(['1 run test:cloud -- test/cloud/stream.test.ts'])
  expect(calls().filter((call) => call.includes('test/adapters/opensearch/'))).toEqual(
    ['copies', 'member-match', 'search-index'].map(
      (name) => `node test/engines/run.ts opensearch-pair -- npm run test:full -- test/adapters/opensearch/${name}.test.ts`,
    ),
  )
})

it.each(['--minutes=', '--minutes=-1', '--minutes many', '--minute 1', 'judges'])('rejects the arguments %s', (line) => {
  program('npm', `echo "$*" >> '${folder}/calls'`)
  const { status, stderr } = spawnSync(process.execPath, ['test/night.ts', ...line.split(' ')], { env, encoding: 'utf8' })
  expect([status, stderr, calls()]).toEqual([2, expect.stringContaining('Usage: node test/night.ts'), []])
})

it('runs every folder in a random order', () => {
  program('npm', `echo "$*" >> '${folder}/calls'`)
  spawnSync(process.execPath, ['test/night.ts', 'order'], { env })
  const seed = 0x01234567 % 1_000_000
  for (const place of ['test/auth/', 'test/[^/]*[.]test']) expect(calls()).toContain(`test -- --randomize --seed=${seed} ${place}`)
})

it('names the commands that it did not finish in time', () => {
  program('npm', 'exec tail -f /dev/null')
  const { status, stdout } = spawnSync(process.execPath, ['test/night.ts', '--minutes', '0', 'stacks'], { env, encoding: 'utf8' })
  expect([status, stdout]).toEqual([0, expect.stringMatching(/Not finished:\nnpm run test:cloud -- api\n\n.*0 commands of 1, 0 failed/s)])
})

it('runs no further command after a signal, and fails', async () => {
  // Runs until its input ends.
  program('npm', `echo "$*" >> '${folder}/calls'; exec cat`)
  const night = spawn(process.execPath, ['test/night.ts', 'bench'], { env, stdio: ['pipe', 'ignore', 'ignore'] })
  try {
    await eventually(() => calls().length > 0)
    night.kill('SIGTERM')
    await eventually(() => night.exitCode !== null || calls().length > 1)
    expect([calls(), night.exitCode]).toEqual([['run bench --'], 1])
  } finally {
    night.stdin.end()
  }
})
