import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { eventually } from '../fixtures/eventually.ts'

const PROGRAM = ['--disable-warning=ExperimentalWarning', 'test/mutants/run.ts']
const folder = mkdtempSync(join(tmpdir(), 'fhir-run-'))
afterAll(() => rmSync(folder, { recursive: true }))

it.each([
  [['--most', 'many'], '--most many: a number expected'],
  [['--kept', 'no-such-guard'], 'No guard has no-such-guard in its name, file or tests'],
  [['--diff', 'no-such-commit'], "bad revision 'no-such-commit'"],
])('fails with the arguments %j', (args, message) => {
  const { status, stderr } = spawnSync(process.execPath, [...PROGRAM, ...args], { encoding: 'utf8' })
  expect(stderr).toContain(message)
  expect(status).not.toBe(0)
})

it('ends its tests and removes its copies after a signal, and fails', async () => {
  const env = { ...process.env, TMPDIR: folder }
  const run = spawn(process.execPath, [...PROGRAM, '--kept', 'refresh-token-single-use'], { env, stdio: 'ignore' })
  // Jest has started.
  await eventually(() => readdirSync(folder).some((copy) => existsSync(join(folder, copy, '.jest'))))
  run.kill('SIGTERM')
  await eventually(() => run.exitCode !== null || run.signalCode !== null)
  expect([run.exitCode, readdirSync(folder).filter((name) => name.startsWith('fhir-mutants-'))]).toEqual([1, []])
})
