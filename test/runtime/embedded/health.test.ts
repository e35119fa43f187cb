/** `GET /health` of the embedded server over HTTP. */
import { readdirSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { type FetchDocument, type FetchedDocument, NotFetched } from '../../../lambdas/ports/security/fetch-document.ts'
import { readConfig } from '../../../lambdas/runtime/config.ts'
import { backupStore, restoreStore } from '../../../lambdas/runtime/control/backup-command.ts'
import { checkStores } from '../../../lambdas/runtime/embedded/health.ts'
import { openEmbeddedServer } from '../../../lambdas/runtime/embedded/server.ts'
import { openStores } from '../../../lambdas/runtime/embedded/stores.ts'
import { OTHER_KEY, SECOND_MS, signToken } from '../../access/issuing.ts'
import { newFolder, runAtEnd } from '../../fixtures/at-end.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { failOnReport } from '../../fixtures/never-reports.ts'
import { SetClock } from '../../fixtures/set-clock.ts'
import { openConnection } from '../../http/front.ts'

const ISSUER = {
  issuer: 'https://auth.example.org',
  audience: 'fhir',
  jwksUri: 'https://auth.example.org/keys',
  scopes: 'system/*.rs',
  claims: { client: 'azp' },
}
/** No time passes, so one check of the health counts for a whole test. */
const times = new SetClock('2026-06-01T12:00:00Z')

/** `fetchDocument`: fetches the keys of ISSUER. */
async function openServer(fetchDocument: FetchDocument = () => Promise.reject(new NotFetched('no keys'))) {
  const folder = newFolder()
  const embedded = await openEmbeddedServer({
    config: readConfig({ FHIR_ACCESS: 'token', FHIR_EXTERNAL_ISSUERS: JSON.stringify([ISSUER]) }),
    baseUrl: 'http://127.0.0.1/fhir',
    dataFolder: folder,
    fetchDocument,
    times,
    report: failOnReport,
  })
  let isClosed = false
  const close = async (): Promise<void> => {
    if (!isClosed) {
      isClosed = true
      await embedded.close()
    }
  }
  runAtEnd(close)
  await new Promise<void>((resolve) => embedded.server.listen(0, '127.0.0.1', resolve))
  const { port } = embedded.server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  // A search is answered after the index has reported its position.
  const search = await fetch(`${origin}/fhir/Patient`, {
    headers: { authorization: `Bearer ${await embedded.issue({ isAdministrator: true })}` },
  })
  expect(search.status).toBe(200)
  return { server: embedded.server, folder, port, origin, close }
}

it('is at the root of the origin, and needs no token', async () => {
  const { origin, folder, close } = await openServer()
  const response = await fetch(`${origin}/health`)
  expect([response.status, await response.text()]).toEqual([200, '{"ready":true,"lag":0}'])
  expect([response.headers.get('content-type'), response.headers.get('cache-control')]).toEqual(['application/json', 'no-store'])
  const head = await fetch(`${origin}/health`, { method: 'HEAD' })
  expect([head.status, await head.text(), head.headers.get('content-length')]).toEqual([200, '', '22'])
  for (const path of ['/health/', '/health/1', '/healthy']) expect([path, (await fetch(origin + path)).status]).toEqual([path, 404])
  const posted = await fetch(`${origin}/health`, { method: 'POST', body: '{}' })
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  await close()
  const audited = readdirSync(join(folder, 'audit')).flatMap((name) =>
    readFileSync(join(folder, 'audit', name), 'utf8')
      .trim()
      .split('\n'),
  )
  expect(audited.map((line) => JSON.parse(line).interaction)).not.toContain('health')
})

it('is not ready once the server stops', async () => {
  const { server, port, close } = await openServer()
  const ask = 'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n'
  const { socket, until, ended } = openConnection(port, ask)
  await until(/\{"ready":true,"lag":0\}/)
  // The body of this request is missing when the server stops, so the server keeps the connection.
  socket.write('POST /fhir/auth/token HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n')
  await until(/100 Continue/)
  const closed = close()
  await eventually(() => !server.listening)
  socket.write(`{}${ask}`)
  const answers = await ended
  expect(answers).toMatch(/HTTP\/1\.1 503 .*\{"ready":false,"lag":null\}$/s)
  await closed
})

it('is not ready from the beginning of a restore to its end', async () => {
  const [fetching, keys] = [Promise.withResolvers<void>(), Promise.withResolvers<FetchedDocument>()]
  const { origin, folder } = await openServer(() => {
    fetching.resolve()
    return keys.promise
  })
  const answerKeys = () => keys.resolve({ bytes: new TextEncoder().encode(JSON.stringify({ keys: [OTHER_KEY.published] })) })
  // If the test fails, the server still waits for them when it closes.
  runAtEnd(answerKeys)
  const ask = async () => (await fetch(`${origin}/health`)).text()
  const backup = join(newFolder(), 'backup.db')
  await backupStore(folder, backup, () => undefined)
  // The restore waits for this request, which waits for the keys of its issuer.
  const now = times.wall() / SECOND_MS
  const token = signToken(OTHER_KEY, {
    iss: ISSUER.issuer,
    aud: ISSUER.audience,
    sub: 'a',
    azp: 'app',
    iat: now,
    exp: now + 300,
    scope: 'system/*.rs',
  })
  const request = fetch(`${origin}/fhir/Patient`, { headers: { authorization: `Bearer ${token}` } })
  await fetching.promise
  expect(await ask()).toBe('{"ready":true,"lag":0}')
  const restored = restoreStore(folder, backup, () => undefined)
  await eventually(ask, { until: (text) => text === '{"ready":false,"lag":null}' })
  answerKeys()
  expect([await restored, (await request).status]).toEqual(['running', 200])
  expect(await ask()).toBe('{"ready":true,"lag":0}')
})

it('fails if the store cannot be read', async () => {
  const folder = newFolder()
  const { store, searcher, close } = await openStores({
    path: (name) => join(folder, name),
    now: () => 0,
    reading: { baseUrl: 'http://127.0.0.1/fhir' },
    budget: 10_000,
    report: failOnReport,
  })
  expect(await checkStores({ store, searcher })).toMatchObject({ lag: 0 })
  await close()
  await expect(checkStores({ store, searcher })).rejects.toThrow()
})
