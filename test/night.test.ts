import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { eventually } from './fixtures/eventually.ts'

const folder = mkdtempSync(join(tmpdir(), 'fhir-night-'))
const calls = (): readonly string[] => readFileSync(join(folder, 'calls'), 'utf8').split('\n').slice(0, -1)

/** Writes a program that takes the place of the one on the path. */
function program(name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
  chmodSync(join(folder, name), 0o755)
}

afterAll(() => rmSync(folder, { recursive: true }))

it('runs no further command after a signal, and fails', async () => {
  writeFileSync(join(folder, 'calls'), '')
  program('git', 'echo 0123456789')
  // Runs until its input ends.
  program('npm', `echo "$*" >> '${folder}/calls'; exec cat`)
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` }
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
