/** A command or server continues even if its output cannot be written. */
import { spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import { type RunningServer, runFhir, startOpenServer, startOpenServerUnder } from './process.ts'

const basic = (id: string): string => JSON.stringify({ resourceType: 'Basic', id, code: { text: 'x' } })

const shell = (redirection: string): readonly string[] => ['sh', '-c', `exec "$@" ${redirection}`, 'sh']

/** Makes two searches fail with a logged error: they have a next page, and the folder that stores their parameters is missing. */
async function failTwice(data: string, { base }: RunningServer): Promise<void> {
  const headers = { 'content-type': 'application/fhir+json' }
  for (const id of ['a', 'b']) await fetch(`${base}/Basic/${id}`, { method: 'PUT', headers, body: basic(id) })
  rmSync(join(data, 'blobs'), { recursive: true, force: true })
  writeFileSync(join(data, 'blobs'), '')
  for (let i = 0; i < 2; i++) {
    const body = new URLSearchParams({ _count: '1' })
    expect((await fetch(`${base}/Basic/_search`, { method: 'POST', body })).status).toBe(500)
  }
}

describe('A server', () => {
  it('logs each disk error on standard error, in one line', async () => {
    const data = newFolder()
    const server = await startOpenServer('--data', data)
    await failTwice(data, server)
    await server.stop()
    expect(server.err()).toMatch(/^(?:\S+ request \S+: E[A-Z]+: .*blobs.*\n){2}$/)
  })

  it.each([['2>/dev/full'], ['2>&-']])('keeps running if standard error is %s', async (redirection) => {
    const data = newFolder()
    const server = await startOpenServerUnder(shell(redirection), '--data', data)
    await failTwice(data, server)
    expect((await fetch(`${server.base}/metadata`)).status).toBe(200)
    expect(await server.stop()).toBe(0)
  })

  it('keeps running when its output is closed', async () => {
    const data = newFolder()
    const server = await startOpenServer('--data', data)
    server.child.stdout!.destroy()
    server.child.stderr!.destroy()
    await failTwice(data, server)
    expect((await fetch(`${server.base}/metadata`)).status).toBe(200)
    expect(await server.stop()).toBe(0)
  })
})

it('A command completes even if its output cannot be written', async () => {
  const data = newFolder()
  const server = await startOpenServer('--data', data)
  const file = join(newFolder(), 'saved.db')
  const child = spawn('sh', [
    '-c',
    'exec "$@" >/dev/full 2>/dev/full',
    'sh',
    process.execPath,
    'bin/fhir.js',
    'backup',
    file,
    '--data',
    data,
  ])
  expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0)
  expect((await runFhir('restore', file, '--data', data)).code).toBe(0)
  await server.stop()
})
