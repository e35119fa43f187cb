/** A server whose disk changes what it wrote: who runs it, and who asks it, are told; all else goes on. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
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
  const damaged = await fetch(`${server.base}/Patient/changed`)
  expect([damaged.status, JSON.stringify(await damaged.json())]).toEqual([500, expect.stringContaining('The store is damaged')])
  const answers = ['Patient/sound', 'Patient?family=Family-of-sound'].map((path) => fetch(`${server.base}/${path}`))
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200])
  const told = server
    .err()
    .split('\n')
    .filter((line) => line.includes('damaged'))
  expect(told).toEqual([expect.stringMatching(/^\S+ request \S+: the store is damaged: [a-z ]+$/)])
  const copy = join(newFolder(), 'backup.db')
  expect(await fhir('backup', copy, '--data', data)).toMatchObject({ code: 1, err: `fhir: ${file} is damaged: no backup was made\n` })
  expect(existsSync(copy)).toBe(false)
  await server.stop()
})
