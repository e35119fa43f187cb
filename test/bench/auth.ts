/**
 * `npm run bench -- auth`: compares the processor time of verifying an access token, cached and new, with that of a read over HTTP.
 * Revocations are in a file, as on the embedded server. Prints a table; asserts nothing.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifier } from '../../lambdas/access/verification/verifier.ts'
import { openGrants } from '../../lambdas/adapters/sqlite-grants/open-grants.ts'
import { BASE_URL, KEY, SECOND_MS, signToken } from '../access/issuing.ts'
import { ticksOf } from './other-processes.ts'
import { sendRequest, startServer, stopAll, stopProcess } from './served.ts'

const READS = 40_000
const CACHED = 300_000
const NEW = 2_000
/** Tokens in use at once. */
const TOKENS = 200
const PORT = 18_080

const scratch = mkdtempSync(join(tmpdir(), 'fhir-bench-'))
const agent = new Agent({ keepAlive: true, maxSockets: 16 })

/** Returns the microseconds of processor time of a read, of all threads of the server. Sends a token if the server requires one. */
async function read(access: 'open' | 'token'): Promise<number> {
  process.env.FHIR_ACCESS = access
  const { child } = await startServer(PORT, join(scratch, access))
  const url = `http://127.0.0.1:${PORT}/fhir/Patient/a`
  const headers = { 'content-type': 'application/fhir+json' }
  const patient = JSON.stringify({ resourceType: 'Patient', id: 'a', active: true, name: [{ family: 'x'.repeat(800) }] })
  await sendRequest(url, { agent, method: 'PUT', headers, body: patient })
  const many = async (count: number): Promise<void> => {
    let left = count
    const one = async (): Promise<void> => {
      while (left-- > 0) {
        const [status] = await sendRequest(url, { agent })
        if (status !== 200) throw new Error(`A read was answered ${status}`)
      }
    }
    await Promise.all(Array.from({ length: 16 }, one))
  }
  await many(READS)
  const before = ticksOf(String(child.pid))
  await many(READS)
  const spent = ticksOf(String(child.pid)) - before
  await stopProcess(child)
  // A clock tick is a hundredth of a second.
  return (spent * 10_000) / READS
}

/** Returns the microseconds of processor time of one call. */
async function timeOf(count: number, each: (i: number) => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  for (let i = 0; i < count; i++) await each(i)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}

/** Returns an Authorization header with the claims that the token of a user's app has. */
const headerOf = (i: number): string => {
  const [iat, exp] = [Date.now() / SECOND_MS, Date.now() / SECOND_MS + 3_600].map(Math.floor) as [number, number]
  const user = {
    sub: crypto.randomUUID(),
    azp: 'app',
    client_id: 'app',
    preferred_username: 'jane',
    fhirUser: 'Practitioner/1',
    patient: 'p-1',
  }
  const sid = crypto.randomUUID()
  const claims = {
    iss: BASE_URL,
    aud: BASE_URL,
    iat,
    exp,
    jti: `${i}`,
    typ: 'Bearer',
    sid,
    session_state: sid,
    acr: '1',
    client_auth: 'none',
  }
  return `Bearer ${signToken(KEY, { ...claims, ...user, scope: 'launch/patient openid fhirUser offline_access patient/*.rs user/*.cruds' })}`
}

async function verification(): Promise<{ readonly first: number; readonly again: number; readonly length: number }> {
  const stores = openGrants(join(scratch, 'grants.db'), Date.now)
  const { verify } = verifier({
    issuer: BASE_URL,
    audience: BASE_URL,
    keys: { list: async () => [{ key: KEY.published, madeAt: 0 }] },
    revocations: stores.revocations,
    revocationLag: 0,
    patientsOf: async () => undefined,
    clock: { now: Date.now },
    tenancy: false,
    tenantClaim: 'tenant',
    patientScopesWithoutContext: 'all',
    externalIssuers: [],
    fetchDocument: () => Promise.reject(new Error('The bench has no external issuer')),
    report(error) {
      throw error
    },
  })
  const headers = Array.from({ length: 2 * NEW }, (_, i) => headerOf(i))
  await timeOf(NEW, (i) => verify(headers[i]!, undefined))
  const first = await timeOf(NEW, (i) => verify(headers[NEW + i]!, undefined))
  const cachedHeaders = headers.slice(0, TOKENS)
  await timeOf(CACHED, (i) => verify(cachedHeaders[i % TOKENS]!, undefined))
  const again = await timeOf(CACHED, (i) => verify(cachedHeaders[i % TOKENS]!, undefined))
  await stores.close()
  return { first, again, length: cachedHeaders[0]!.length }
}

try {
  const [{ first, again, length }, whole, withToken] = [await verification(), await read('open'), await read('token')]
  const micro = (figure: number) => `${figure.toFixed(1)} µs`
  const share = `${((100 * again) / whole).toFixed(1)} % of a read (at most 5 %)`
  console.log(
    [
      '| processor time of | | compared with |',
      '|---|---|---|',
      `| a read without authentication, 16 connections | ${micro(whole)} | |`,
      `| a read with a token | ${micro(withToken)} | ${(withToken / whole).toFixed(2)} |`,
      `| verification of a cached token (${length} characters) | ${micro(again)} | ${share} |`,
      `| verification of a new token | ${micro(first)} | ${((100 * first) / whole).toFixed(0)} % of a read |`,
    ].join('\n'),
  )
} finally {
  agent.destroy()
  await stopAll()
  rmSync(scratch, { recursive: true, force: true })
}
