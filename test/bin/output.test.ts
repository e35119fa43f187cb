/** What the command line prints may not reach anybody: that ends nothing. */
import { spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import { type RunningServer, runFhir, startOpenServer, startOpenServerUnder } from './process.ts'

const basic = (id: string): string => JSON.stringify({ resourceType: 'Basic', id, code: { text: 'x' } })

const shell = (redirection: string): readonly string[] => ['sh', '-c', `exec "$@" ${redirection}`, 'sh']

/** Each such search fails, and its error is printed: it has a next page, and there is no folder to keep its parameters in. */
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
  it('says on standard error, in a line each, what the disk refused', async () => {
    const data = newFolder()
    const server = await startOpenServer('--data', data)
    await failTwice(data, server)
    await server.stop()
    expect(server.err()).toMatch(/^(?:\S+ request \S+: E[A-Z]+: .*blobs.*\n){2}$/)
  })

  it.each([['2>/dev/full'], ['2>&-']])('goes on where standard error is %s', async (redirection) => {
    const data = newFolder()
    const server = await startOpenServerUnder(shell(redirection), '--data', data)
    await failTwice(data, server)
    expect((await fetch(`${server.base}/metadata`)).status).toBe(200)
    expect(await server.stop()).toBe(0)
  })

  it('goes on when nobody reads its output any more', async () => {
    const data = newFolder()
    const server = await startOpenServer('--data', data)
    server.child.stdout!.destroy()
    server.child.stderr!.destroy()
    await failTwice(data, server)
    expect((await fetch(`${server.base}/metadata`)).status).toBe(200)
    expect(await server.stop()).toBe(0)
  })
})

it('A command does what it was asked where its output cannot be written', async () => {
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
