/** A server with token access, used through `fhir start`, `fhir token` and `fhir load`. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import { isProgramUsable, itRequiring } from '../fixtures/needing.ts'
import { type RunningServer, runFhir, startOpenServer, startTokenServer } from './process.ts'

const SAMPLE = '58c297c4-d684-4677-8024-01131d93835e'

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token.trim()}` } })
const statusOf = async (url: string, init?: RequestInit): Promise<number> => (await fetch(url, init)).status
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())

async function token(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await runFhir('token', ...args)
  expect([code, err]).toEqual([0, ''])
  return out
}

describe('A server with token access', () => {
  itRequiring('curl', isProgramUsable('curl', '--version'))('prints commands that work when pasted', async () => {
    const data = newFolder()
    const server = await startTokenServer('--sample', '--data', data)
    const [add = '', ...lines] = server
      .out()
      .split('\n')
      .filter((line) => line.startsWith('  '))
    expect(lines[0]).toBe(`  TOKEN=$(npm run -s fhir -- token --data ${data})`)
    expect(lines).toHaveLength(5)
    expect(execFileSync('sh', ['-c', add], { encoding: 'utf8', input: 'correct horse battery\n' })).toContain('The user me is added')
    const answer = (line: string): { readonly resourceType: string } =>
      JSON.parse(execFileSync('sh', ['-c', `${lines[0]}; ${line.replace('curl', 'curl -s')}`], { encoding: 'utf8' }))
    expect(lines.slice(1).map((line) => answer(line).resourceType)).toEqual(['Patient', 'Bundle', 'Bundle', 'Patient'])
    expect(await server.stop()).toBe(0)
  })

  it('rejects requests without a token, without scope, or with another base URL', async () => {
    const data = newFolder()
    const first = await startTokenServer('--sample', '--data', data)
    const patient = (server: RunningServer) => `${server.base}/Patient/${SAMPLE}`
    const [plain, admin] = [await token('--data', data), await token('--data', data, '--admin')]
    expect(await statusOf(patient(first))).toBe(401)
    expect(await statusOf(patient(first), bearer(plain))).toBe(200)
    const refused = await fetch(`${first.base}/$reindex-status`, bearer(plain))
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      403,
      'Bearer error="insufficient_scope", scope="system/admin"',
    ])
    expect(await statusOf(`${first.base}/$reindex-status`, bearer(admin))).toBe(200)
    expect(await statusOf(`${first.base}/$reindex?type=Basic`, { method: 'POST', ...bearer(plain) })).toBe(403)
    const parameter = { resourceType: 'SearchParameter', id: 'a' }
    const headers = { ...bearer(plain).headers, 'content-type': 'application/fhir+json' }
    expect(await statusOf(`${first.base}/SearchParameter/a`, { method: 'PUT', headers, body: JSON.stringify(parameter) })).toBe(403)
    await first.stop()
    const again = await startTokenServer('--data', data)
    // The server has another port and so another base URL. Tokens are bound to the base URL.
    expect(await statusOf(patient(again), bearer(plain))).toBe(401)
    expect(await statusOf(patient(again), bearer(await token('--data', data)))).toBe(200)
    await again.stop()
  })

  it('issues tokens by its port if in memory, and none if open or stopped', async () => {
    const server = await startTokenServer('--memory')
    const port = new URL(server.base).port
    expect(server.out()).toContain(`token --port ${port})`)
    const given = await token('--port', port, '--tenant', 'default')
    expect(await statusOf(`${server.base}/Patient`, bearer(given))).toBe(200)
    const other = await runFhir('token', '--port', port, '--tenant', 'a')
    expect([other.code, other.out, other.err]).toEqual([
      1,
      '',
      expect.stringContaining('There is no tenant a: this server keeps no tenants'),
    ])
    await server.stop()
    expect(await runFhir('token', '--port', port)).toEqual({
      ...{ code: 1, out: '' },
      err: `fhir: No server started with --memory runs on port ${port}: start one, or name another by --data or --port\n`,
    })
    const data = newFolder()
    const open = await startOpenServer('--data', data)
    const refused = await runFhir('token', '--data', data)
    expect([refused.code, refused.err]).toEqual([1, 'fhir: The server needs no tokens: it was started with --open\n'])
    await open.stop()
  })

  it('is found by its data folder for load and export; otherwise nothing is sent', async () => {
    const [data, files, to] = [newFolder(), newFolder(), join(newFolder(), 'exported')]
    mkdirSync(files, { recursive: true })
    writeFileSync(join(files, 'patients.ndjson'), '{"resourceType":"Patient","id":"a"}\n')
    const server = await startTokenServer('--data', data)
    expect((await runFhir('load', files, '--data', data)).out).toMatch(/^1 resource of 1 file loaded/m)
    expect((await runFhir('export', '--to', to, '--data', data)).out).toMatch(/^1 resource in 1 file /)
    await server.stop()
    const nobody = `fhir: No server runs on ${data}: start one, or give its base URL\n`
    expect(await runFhir('load', files, '--data', data)).toEqual({ code: 1, out: '', err: nobody })
    expect(await runFhir('export', '--to', to, '--data', data)).toEqual({ code: 2, out: '', err: nobody })
  })

  it('is loaded with its own token, which is sent to no other server', async () => {
    const [data, files] = [newFolder(), newFolder()]
    mkdirSync(files, { recursive: true })
    writeFileSync(join(files, 'patients.ndjson'), '{"resourceType":"Patient","id":"a"}\n{"resourceType":"SearchParameter","id":"b"}\n')
    const [server, other] = [await startTokenServer('--data', data), await startTokenServer('--data', newFolder())]
    const passing = await startTokenServer('--memory')
    const loaded = await runFhir('load', files, '--to', server.base, '--data', data)
    expect(loaded.out).toMatch(/^1 resource of 1 file loaded/m)
    expect(await statusOf(`${server.base}/Patient/a`, bearer(await token('--data', data)))).toBe(200)
    const elsewhere = await runFhir('load', files, '--to', other.base, '--data', data)
    expect([elsewhere.code, elsewhere.err]).toEqual([1, expect.stringContaining('401')])
    const advice = `For ${other.base} give its data folder with --data, or --client)`
    expect(elsewhere.err).toContain(
      `(no token was sent: the server that runs on ${data} calls itself ${server.base}: give that address. ${advice}`,
    )
    const empty = newFolder()
    const hints: readonly (readonly [readonly string[], string])[] = [
      [['--data', empty], `no server runs on ${empty}. `],
      [
        ['--data', data, '--tenant', 'north'],
        'There is no tenant north: this server keeps no tenants but "default" (FHIR_TENANCY is off). ',
      ],
    ]
    for (const [options, reason] of hints)
      expect((await runFhir('reindex', '--to', other.base, ...options)).err).toContain(`(no token was sent: ${reason}${advice}`)
    // The command finds this server by the port of its address.
    expect((await runFhir('load', files, '--to', passing.base, '--data', data)).out).toMatch(/^1 resource of 1 file loaded/m)
    const open = await startOpenServer('--memory')
    for (const to of [server.base, open.base]) {
      const { code, err } = await runFhir('load', files, '--to', to, '--data', data, '--tenant', 'north')
      expect([code, err]).toEqual([1, expect.stringContaining(`this server keeps no tenants but "default"`)])
    }
    await Promise.all([server, other, passing, open].map(({ stop }) => stop()))
  })

  it('records issued tokens and app launches, and rejects launches of unknown resources', async () => {
    const data = newFolder()
    const server = await startTokenServer('--data', data)
    const headers = { ...bearer(await token('--data', data, '--admin')).headers, 'content-type': 'application/fhir+json' }
    for (const [type, id, more] of [
      ['Patient', 'a', {}],
      ['Patient', 'b', {}],
      ['Encounter', 'e', { status: 'planned', class: { code: 'AMB' }, subject: { reference: 'Patient/a' } }],
    ] as const) {
      const body = JSON.stringify({ resourceType: type, id, ...more })
      expect(await statusOf(`${server.base}/${type}/${id}`, { method: 'PUT', headers, body })).toBe(201)
    }
    for (const context of [['--patient', 'a'], ['--encounter', 'e'], []]) {
      const launched = await runFhir('launch', '--client', 'demo', ...context, '--data', data)
      expect([launched.code, launched.out]).toEqual([0, expect.stringMatching(/^[\w-]{43}\n$/)])
    }
    expect((await runFhir('client', 'add', 'plain', '--public', '--scope', 'patient/*.rs', '--data', data)).code).toBe(0)
    for (const [args, message] of [
      [['--client', 'nobody'], 'There is no client nobody'],
      [['--client', 'demo', '--user', 'nobody'], 'There is no user nobody'],
      [['--client', 'demo', '--patient', 'Patient/a'], 'Patient/a is no id: without its type'],
      [['--client', 'plain'], 'The client plain is not registered for the scope launch'],
      [['--client', 'demo', '--patient', 'c'], 'There is no Patient/c'],
      [['--client', 'demo', '--encounter', 'c'], 'There is no Encounter/c'],
      [['--client', 'demo', '--patient', 'b', '--encounter', 'e'], 'Encounter/e is not of Patient/b'],
    ] as const) {
      const { code, err } = await runFhir('launch', ...args, '--data', data)
      expect([code, err]).toEqual([1, `fhir: ${message}\n`])
    }
    await server.stop()
    const stopped = await runFhir('launch', '--client', 'demo', '--data', data)
    expect(stopped.err).toBe(
      `fhir: No server runs on ${data}: start it, because a launch is valid for ten minutes and only on a running server\n`,
    )
    const file = readdirSync(join(data, 'audit')).find((name) => !name.includes('commands'))!
    const records = readFileSync(join(data, 'audit', file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(records).toContainEqual(
      expect.objectContaining({
        ...{ interaction: 'token', client: 'fhir:token', operator: userInfo().username },
        ...{ scopes: 'system/*.cruds system/admin', status: 200 },
      }),
    )
    const launches = records.filter(({ interaction }) => interaction === 'launch')
    const common = { client: 'demo', operator: userInfo().username, status: 200, outcome: 'done' }
    expect(launches).toEqual([
      expect.objectContaining({ ...common, patient: 'a' }),
      expect.objectContaining({ ...common, patient: 'a', key: 'Encounter/e' }),
      expect.objectContaining(common),
    ])
  })

  it('issues a client a token for its registered scopes, as the pages show', async () => {
    const data = newFolder()
    const server = await startTokenServer('--sample', '--data', data)
    const { out } = await runFhir('client', 'add', 'reporting', '--secret', '--scope', 'system/Observation.rs', '--json', '--data', data)
    const { client_id, client_secret } = JSON.parse(out)
    const asked = { grant_type: 'client_credentials', client_id, client_secret, scope: 'system/Observation.rs' }
    const answer = await fetch(`${server.base}/auth/token`, { method: 'POST', body: new URLSearchParams(asked) })
    const { access_token } = (await answer.json()) as { readonly access_token: string }
    expect(await statusOf(`${server.base}/Observation?_count=1`, bearer(access_token))).toBe(200)
    expect(await statusOf(`${server.base}/Patient?_count=1`, bearer(access_token))).toBe(403)
    const secret = join(data, 'secret-of-a-client')
    writeFileSync(secret, client_secret)
    const [client, file] = [['--client', 'reporting', '--secret-file', secret], join(data, 'a.ndjson')]
    writeFileSync(file, '{"resourceType":"Patient","id":"z"}\n')
    const refused = await runFhir('load', file, '--to', server.base, ...client)
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('403 This needs a scope for Patient.u')])
    await runFhir('client', 'add', 'loading', '--secret', '--scope', 'system/*.cruds', '--json', '--data', data).then((added) =>
      writeFileSync(secret, JSON.parse(added.out).client_secret),
    )
    const loaded = await runFhir('load', file, '--to', server.base, '--client', 'loading', '--secret-file', secret, '--data', newFolder())
    expect([loaded.code, loaded.out]).toEqual([0, expect.stringMatching(/^1 resource of 1 file loaded/)])
    await server.stop()
  })

  it('issues a client that signs a token by its key, as fhir token requests it', async () => {
    const [data, key] = [newFolder(), join(newFolder(), 'key.json')]
    const server = await startTokenServer('--data', data)
    await runFhir('client', 'add', 'nightly', '--new-key', key, '--scope', 'system/Patient.rs', '--data', data)
    const signing = ['--client', 'nightly', '--key', key]
    for (const place of [
      ['--data', data],
      ['--from', server.base, '--data', newFolder()],
    ]) {
      const given = await token(...signing, ...place)
      expect([claimsOf(given).client_id, await statusOf(`${server.base}/Patient`, bearer(given))]).toEqual(['nightly', 200])
    }
    const narrow = await token(...signing, '--scope', 'system/Patient.r', '--data', data)
    expect(claimsOf(narrow).scope).toBe('system/Patient.r')
    const wrong = join(data, 'wrong.json')
    writeFileSync(wrong, '{}')
    for (const [args, message] of [
      [['--client', 'nightly'], '--client ID and --key FILE'],
      [['--key', key], '--client ID and --key FILE'],
      [['--from', server.base], '--from and --patient require both'],
      [['--patient', '1'], '--from and --patient require both'],
      [['--client', 'nightly', '--key', wrong], `${wrong}: It holds no private JSON Web Key`],
      [['--client', 'nobody', '--key', key], 'There is no such client'],
      [[...signing, '--admin'], "'--client <id>' cannot be used with option '--admin'"],
    ] as const) {
      const { code, out, err } = await runFhir('token', ...args, '--data', data)
      expect([code, out, err]).toEqual([1, '', expect.stringContaining(message)])
    }
    await server.stop()
  })

  it('names its base URL and scopes in tokens that expire after an hour', async () => {
    const data = newFolder()
    const server = await startTokenServer('--data', data)
    const claims = claimsOf(await token('--data', data))
    expect([claims.iss, claims.aud, claims.scope, claims.typ]).toEqual([server.base, server.base, 'system/*.cruds', 'Bearer'])
    expect(claims.exp - claims.iat).toBe(3_600)
    expect(readFileSync(join(data, 'grants.db')).subarray(0, 6).toString()).toBe('SQLite')
    await server.stop()
  })
})
