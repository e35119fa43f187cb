/** A server whose disk changes what it wrote: who runs it, and who asks it, are told; all else goes on. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import type { Tree } from '../fixtures/resources.ts'
import { fhir, started } from './process.ts'

it('a resource whose bytes were changed is not served, and no backup is made; other resources are, and searches', async () => {
  const data = newFolder()
  const first = await started('--data', data)
  for (const id of ['changed', 'sound'])
    await fetch(`${first.base}/Patient/${id}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/fhir+json' },
      body: JSON.stringify({ resourceType: 'Patient', id, name: [{ family: `Family-of-${id}` }] }),
    })
  await first.stop()
  const file = join(data, 'store.db')
  for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true })
  const bytes = readFileSync(file)
  bytes.write('A', bytes.indexOf('Family-of-changed'))
  writeFileSync(file, bytes)
  const server = await started('--data', data)
  const damaged = await fetch(`${server.base}/Patient/changed`, { headers: { 'x-request-id': 'read' } })
  expect([damaged.status, JSON.stringify(await damaged.json())]).toEqual([500, expect.stringContaining('The store is damaged')])
  const answers = ['Patient/sound', 'Patient?family=Family-of-sound'].map((path) => fetch(`${server.base}/${path}`))
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200])
  const bundle = async (type: string) => {
    const entry = [
      { request: { method: 'GET', url: 'Patient/changed' } },
      { request: { method: 'PUT', url: `Basic/${type}` }, resource: { resourceType: 'Basic', id: type, code: { text: 'x' } } },
      { request: { method: 'GET', url: 'Patient/sound' } },
    ]
    const headers = { 'content-type': 'application/fhir+json', 'x-request-id': type }
    const response = await fetch(server.base, { method: 'POST', headers, body: JSON.stringify({ resourceType: 'Bundle', type, entry }) })
    return { status: response.status, body: (await response.json()) as Tree }
  }
  const ofBatch = (await bundle('batch')).body.entry.map(({ response }: Tree) => response)
  expect(ofBatch.map(({ status }: Tree) => status)).toEqual(['500 Internal Server Error', '201 Created', '200 OK'])
  const issue = [{ severity: 'fatal', code: 'exception', details: expect.anything(), expression: ['Bundle.entry[0]'] }]
  expect(ofBatch[0].outcome.issue).toEqual(issue)
  expect(await bundle('transaction')).toMatchObject({ status: 500, body: { issue } })
  expect((await fetch(`${server.base}/Basic/transaction`)).status).toBe(404)
  const told = server
    .err()
    .split('\n')
    .filter((line) => line.includes('damaged'))
    .map((line) => line.replace(/^\S+ /, ''))
  const tells = (id: string) => expect.stringMatching(`^request ${id}: the store is damaged: [a-z ]+$`)
  expect(told).toEqual(['read', 'batch', 'transaction'].map(tells))
  const copy = join(newFolder(), 'backup.db')
  expect(await fhir('backup', copy, '--data', data)).toMatchObject({ code: 1, err: `fhir: ${file} is damaged: no backup was made\n` })
  expect(existsSync(copy)).toBe(false)
  await server.stop()
})
