/** Engines end with whoever started them, and what they started with them. */
import { spawn } from 'node:child_process'
import { expect, it } from '@jest/globals'
import { eventually } from '../fixtures/eventually.ts'
import { isAlive } from '../fixtures/running-process.ts'
import { waitOneTurn } from '../fixtures/turns.ts'
import { startAll } from './engine.ts'

/** An engine that has started something, and who starts it: both tell their processes. Then ENDING is done. */
const ENGINE = `
const { spawn } = require('node:child_process')
const other = spawn(process.execPath, ['-e', "require('node:net').createServer().listen(0, '127.0.0.1')"], { stdio: 'ignore' })
require('node:http').createServer((_, response) => response.end(process.pid + ' ' + other.pid)).listen(process.argv[1], '127.0.0.1')
`
const STARTER = `
import { launchEngine } from './engine.ts'
const { port, stop } = await launchEngine((port) => ({
  command: process.execPath,
  arguments: ['-e', ${JSON.stringify(ENGINE)}, String(port)],
  health: 'http://127.0.0.1:' + port,
}))
console.log(await (await fetch('http://127.0.0.1:' + port)).text())
`

async function processesAfter(ending: string): Promise<readonly number[]> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', STARTER + ending],
    {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  const told = Buffer.concat(await child.stdout.toArray()).toString()
  const pids = told.trim().split(' ').map(Number)
  expect(pids).toEqual([expect.any(Number), expect.any(Number)])
  return pids
}

/** Until they are gone; a test that waits for ever fails. */
async function ended(pids: readonly number[]): Promise<void> {
  await eventually(() => !pids.some(isAlive))
}

it.each([
  ['are stopped', 'await stop()'],
  ['fail', 'throw new Error()'],
  ['end at once', 'process.exit(130)'],
  ['are killed', "process.kill(process.pid, 'SIGKILL')"],
])('when they %s', async (_, ending) => ended(await processesAfter(ending)))

it('one that does not start ends the others, also those that start after it failed', async () => {
  const stopped: string[] = []
  const engine = (name: string, turns: number) => ({
    start: async () => {
      for (let turned = 0; turned < turns; turned++) await waitOneTurn()
      return { environment: {}, stop: async () => void stopped.push(name) }
    },
  })
  const failing = { start: () => Promise.reject(new Error('no Java')) }
  await expect(startAll([engine('early', 0), failing, engine('late', 5)])).rejects.toThrow('no Java')
  expect(stopped.sort()).toEqual(['early', 'late'])
})
