/** `fhir client`, `fhir user` and `fhir keys`, beside a running server and without one. */
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { FilesystemSigningKeys } from '../../lambdas/adapters/filesystem/signing-keys.ts'
import { type OpenedGrants, openGrants } from '../../lambdas/adapters/sqlite-grants/open-grants.ts'
import { Passwords } from '../../lambdas/auth/login/passwords.ts'
import { fingerprintOf } from '../../lambdas/auth/random-secret.ts'
import type { AuditRecord } from '../../lambdas/ports/security/audit-log.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { isProgramUsable, itRequiring } from '../fixtures/needing.ts'
import { type ProcessResult, runFhir, runFhirWithInput, startTokenServer, startTokenServerWithSettings } from './process.ts'

const APP = ['--secret', '--scope', 'system/*.rs']

/** Opens the grants of a data folder as a server does. */
function opened(data: string): OpenedGrants {
  const grants = openGrants(join(data, 'grants.db'), () => Date.now())
  runAtEnd(() => grants.close())
  return grants
}

/** Returns the file with the audit records of the commands of today. */
function commandRecordsFileIn(data: string): string {
  const folder = join(data, 'audit')
  return join(folder, readdirSync(folder).find((each) => each.endsWith('.commands.jsonl'))!)
}

const commandRecordsIn = (data: string): readonly AuditRecord[] =>
  readFileSync(commandRecordsFileIn(data), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

const failing = (err: string): ProcessResult => ({ code: 1, out: '', err: `fhir: ${err}\n` })

describe('fhir client', () => {
  it('registers a client before the first start, and stores only a digest of its secret', async () => {
    const data = join(newFolder(), 'data')
    const { code, out, err } = await runFhir('client', 'add', 'app', ...APP, '--data', data)
    expect(err).toBe(`fhir: there was no data in ${data}, and it is made, for a server that is started with --data ${data}\n`)
    const secret = /client_secret {2}(\S{43})\n/.exec(out)?.[1] ?? ''
    expect([code, out.split('\n')[0]]).toEqual([0, 'The client app is registered'])
    expect([statSync(data).mode & 0o777, statSync(join(data, 'grants.db')).mode & 0o777]).toEqual([0o700, 0o600])
    expect(readFileSync(join(data, 'grants.db')).includes(secret)).toBe(false)
    const { clients } = opened(data)
    expect(await clients.list()).toEqual([
      {
        ...{ id: 'app', name: 'app', scopes: ['system/*.rs'], redirectUris: [], tenants: ['default'], mayIntrospect: false },
        ...{ authentication: { kind: 'secret', hashes: [fingerprintOf(secret)] } },
        ...{ registeredAt: expect.any(Number), changedAt: expect.any(Number), generation: expect.any(String) },
      },
    ])
    const listed = await runFhir('client', 'list', '--data', data)
    expect([listed.out.includes('app'), listed.out.includes(secret), listed.out.includes(fingerprintOf(secret))]).toEqual([
      true,
      false,
      false,
    ])
  })

  it('invites an app, lists the invitation, and prints its token once', async () => {
    const data = newFolder()
    const { clients } = opened(data)
    const invited = await runFhir('client', 'invite', '--name', 'Fit', '--days', '1', '--data', data)
    const [, id = '', token = ''] = /client_id {13}(\S+)\n {2}initial access token {2}(\1[.][\w-]{43})\n/.exec(invited.out) ?? []
    expect([invited.code, invited.err, token]).toEqual([0, '', expect.stringContaining(id)])
    const [stored] = await clients.list()
    expect(stored).toMatchObject({
      id,
      name: 'Fit',
      tenants: ['default'],
      redirectUris: [],
      authentication: { kind: 'secret', hashes: [] },
    })
    const { hash, expires = 0 } = stored!.invited!
    expect([hash, expires - stored!.registeredAt!]).toEqual([fingerprintOf(token.slice(id.length + 1)), 24 * 60 * 60 * 1000])
    const until = new Date(expires).toISOString()
    expect(invited.out).toContain(`One app can register until ${until}`)
    const listed = await runFhir('client', 'list', '--data', data)
    expect(listed.out).toContain(`invitation until ${until}`)
    expect(listed.out).not.toContain(token)
    const json = JSON.parse((await runFhir('client', 'list', '--json', '--data', data)).out)
    expect(json).toMatchObject({ client_id: id, client_name: 'Fit', invited: true, invitation_expires: until })
    const scope = ['--scope', 'patient/Coverage.rs', '--tenant', 'default', '--json']
    const second = JSON.parse((await runFhir('client', 'invite', ...scope, '--data', data)).out)
    expect(second).toMatchObject({ scope: 'patient/Coverage.rs', initial_access_token: expect.stringContaining(second.client_id) })
    expect((await runFhir('client', 'remove', id, '--data', data)).code).toBe(0)
    expect((await clients.list()).map((each) => each.id)).toEqual([second.client_id])
    expect(commandRecordsIn(data).map(({ interaction, client }) => [interaction, client])).toEqual([
      ['client invite', id],
      ['client invite', second.client_id],
      ['client remove', id],
    ])
  })

  it.each([
    [['--scope', 'system/*.rs'], 'The scopes of an invitation must be within'],
    [['--days', '0'], 'A number from 1 to 90'],
    [['--days', '91'], 'A number from 1 to 90'],
    [['--name', ''], 'A name has'],
  ])('makes no invitation with %j', async (wrong, text) => {
    const data = newFolder()
    const { clients } = opened(data)
    const { code, out, err } = await runFhir('client', 'invite', ...wrong, '--data', data)
    expect([code, out, err]).toEqual([1, '', expect.stringContaining(text)])
    expect(await clients.list()).toEqual([])
  })

  it.each([
    ['--scope', 'nonsense'],
    ['--scope', 'system/*.rs', '--redirect-uri', 'http://app.example/back'],
    ['--scope', 'system/*.rs', '--tenant', 'a b'],
  ])('creates no data folder for an invalid registration: %s %s %s %s', async (...wrong) => {
    const data = join(newFolder(), 'data')
    const { code, out } = await runFhir('client', 'add', 'app', '--secret', ...wrong, '--data', data)
    expect([code, out, existsSync(data)]).toEqual([1, '', false])
  })

  it('warns that a client or user of another tenant needs FHIR_TENANCY=on', async () => {
    const data = newFolder()
    const why = 'is accepted only by a server with FHIR_TENANCY=on'
    const added = await runFhir('client', 'add', 'app', ...APP, '--tenant', 'north', '--data', data)
    expect([added.code, added.err.split('\n').at(-2)]).toEqual([0, expect.stringContaining(`app ${why}`)])
    const both = await runFhir('client', 'add', 'both', ...APP, '--tenant', 'north', '--tenant', 'default', '--data', data)
    expect([both.code, both.err]).toEqual([0, ''])
    const user = await runFhirWithInput(
      'secret-of-jane',
      'user',
      'add',
      'jane',
      '--scope',
      'user/*.rs',
      '--tenant',
      'north',
      '--data',
      data,
    )
    expect([user.code, user.err]).toEqual([0, expect.stringContaining(`jane ${why}`)])
  })

  it.each([
    ['on', 0],
    ['off', 2],
  ])('asks a running server for its tenancy, which is %s', async (tenancy, warnings) => {
    const data = newFolder()
    const server = await startTokenServerWithSettings({ FHIR_TENANCY: tenancy }, '--data', data)
    const client = await runFhir('client', 'add', 'app', ...APP, '--tenant', 'north', '--data', data)
    const user = await runFhirWithInput(
      'secret-of-jane',
      'user',
      'add',
      'jane',
      '--scope',
      'user/*.rs',
      '--tenant',
      'north',
      '--data',
      data,
    )
    await server.stop()
    expect([client.code, user.code]).toEqual([0, 0])
    expect([client, user].filter(({ err }) => err.includes('FHIR_TENANCY')).length).toBe(warnings)
  })

  it('warns that the server will not fetch keys from a private address', async () => {
    const added = await runFhir(
      'client',
      'add',
      'app',
      '--jwks-uri',
      'https://10.0.0.5/keys',
      '--scope',
      'system/*.rs',
      '--data',
      newFolder(),
    )
    const why = 'its keys will not be fetched: address 10.0.0.5 is private; see FHIR_PRIVATE_HOSTS of the server'
    expect([added.code, added.err.split('\n').at(-2)]).toEqual([0, `fhir: ${why}`])
  })

  it('prints one JSON object per client with --json, with all its settings', async () => {
    const data = newFolder()
    const jwks = join(newFolder(), 'jwks.json')
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    const key = { ...publicKey.export({ format: 'jwk' }), kid: 'a' }
    writeFileSync(jwks, JSON.stringify({ keys: [key] }))
    const said = [
      ...['--name', 'An app', '--scope', 'launch openid', '--scope', 'patient/*.rs', '--redirect-uri', 'https://a.example/'],
      ...['--redirect-uri', 'http://127.0.0.1:3000/', '--tenant', 'a', '--introspect', '--json'],
    ]
    const keyed = await runFhir('client', 'add', 'keyed', '--jwks', jwks, ...said, '--patient', 'p1', '--data', data)
    expect(JSON.parse(keyed.out)).toEqual({
      ...{ client_id: 'keyed', client_name: 'An app', token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key] } },
      ...{ scope: 'launch openid patient/*.rs', redirect_uris: ['https://a.example/', 'http://127.0.0.1:3000/'], tenants: ['a'] },
      ...{ patient: 'Patient/p1', may_introspect: true },
    })
    const many = await runFhir('client', 'add', 'many', '--jwks', jwks, ...said, '--tenant', 'b', '--data', data)
    expect(JSON.parse(many.out).tenants).toEqual(['a', 'b'])
    const secret = await runFhir('client', 'add', 'secret', ...APP, '--consistency', 'strong', '--json', '--data', data)
    expect(JSON.parse(secret.out)).toMatchObject({
      ...{ client_id: 'secret', client_secret: expect.stringMatching(/^[\w-]{43}$/), consistency: 'strong' },
    })
    expect(secret.out.trim().split('\n')).toHaveLength(1)
    const listed = (await runFhir('client', 'list', '--json', '--data', data)).out.trim().split('\n')
    expect(listed.map((line) => JSON.parse(line).client_id)).toEqual(['keyed', 'many', 'secret'])
    expect(listed.join('')).not.toContain('client_secret"')
  })

  it('reports a wrong argument in one line, and registers nothing', async () => {
    const data = newFolder()
    const missing = join(newFolder(), 'missing.json')
    const text = join(newFolder(), 'text.json')
    writeFileSync(text, '{"keys":[{"d":"private"}]}')
    for (const [args, err] of [
      [
        ['a', '--scope', 'launch'],
        'Choose how the client authenticates: --secret, --new-key FILE, --jwks FILE, --jwks-uri URL or --public',
      ],
      [
        ['a', ...APP, '--redirect-uri', 'javascript:alert(1)'],
        'The redirect URI "javascript:alert(1)" has a scheme that is neither https nor of an app, as com.example.app:/callback',
      ],
      [['a', '--jwks', missing, '--scope', 'launch'], `${missing} cannot be read (ENOENT)`],
      [['a', '--jwks', text, '--scope', 'launch'], `${text}: It holds private keys: give the public ones only`],
      [
        ['a', '--jwks-uri', 'http://a.example/', '--scope', 'launch'],
        'Keys are published under an https URL without a user and a fragment',
      ],
    ] as const)
      expect(await runFhir('client', 'add', ...args, '--data', data)).toEqual(failing(err))
    expect((await runFhir('client', 'add', 'a', ...APP, '--public', '--data', data)).code).toBe(1)
    expect(await opened(data).clients.list()).toEqual([])
  })

  it('updates the given fields of a client and reports whether its tokens are revoked', async () => {
    const data = newFolder()
    await runFhir('client', 'add', 'app', ...APP, '--patient', 'p', '--introspect', '--data', data)
    const update = (...args: readonly string[]) => runFhir('client', 'update', 'app', ...args, '--data', data)
    expect(await update()).toMatchObject({ code: 1, out: '', err: expect.stringContaining('Nothing was changed: give --name, ') })
    const renamed = await update('--name', 'Renamed', '--redirect-uri', 'https://a.example/')
    expect(renamed).toEqual({
      ...{ code: 0, err: '' },
      out: 'The client app is changed: its previous tokens stay valid, with the scopes they have\n',
    })
    const narrowed = await update('--scope', 'system/Patient.rs', '--no-patient', '--no-introspect', '--consistency', 'strong', '--json')
    expect(JSON.parse(narrowed.out)).toMatchObject({
      ...{
        client_name: 'Renamed',
        scope: 'system/Patient.rs',
        consistency: 'strong',
        may_introspect: false,
        redirect_uris: ['https://a.example/'],
      },
    })
    expect(narrowed.out).not.toContain('patient"')
    expect((await update('--scope', 'system/Basic.rs')).out).toContain('its previous access and refresh tokens are revoked')
  })

  it('rotates secrets with an overlap; ending one or removing the client revokes its tokens', async () => {
    const data = newFolder()
    const first = JSON.parse((await runFhir('client', 'add', 'app', ...APP, '--json', '--data', data)).out).client_secret
    const next = JSON.parse((await runFhir('client', 'rotate', 'app', '--json', '--data', data)).out).client_secret
    const { clients, revocations } = opened(data)
    const hashes = async () => (await clients.get('app'))?.authentication
    expect(await hashes()).toEqual({ kind: 'secret', hashes: [next, first].map(fingerprintOf) })
    expect(await revocations.revoked(['client:app'])).toEqual(new Map())
    expect((await runFhir('client', 'rotate', 'app', '--data', data)).err).toContain('has two secrets')
    const ended = await runFhir('client', 'rotate', 'app', '--end', '--data', data)
    expect([ended.code, ended.out]).toEqual([
      0,
      expect.stringContaining('only its second secret is valid; its previous tokens and refresh tokens are revoked'),
    ])
    expect(await hashes()).toEqual({ kind: 'secret', hashes: [fingerprintOf(next)] })
    expect((await runFhir('client', 'rotate', 'app', '--end', '--data', data)).err).toContain('has one secret, and it is left as it is')
    const before = (await revocations.revoked(['client:app'])).get('client:app')!
    expect(before).toBeGreaterThan(0)
    expect((await runFhir('client', 'remove', 'app', '--data', data)).code).toBe(0)
    expect([await clients.list(), (await revocations.revoked(['client:app'])).get('client:app')! > before]).toEqual([[], true])
    expect(await runFhir('client', 'remove', 'app', '--data', data)).toEqual(failing('There is no client app'))
    expect(await runFhir('client', 'rotate', 'app', '--data', data)).toEqual(failing('There is no client app'))
  })
})

describe('fhir user', () => {
  it('reads a password from a pipe, stores its hash, and revokes tokens when it changes', async () => {
    const data = newFolder()
    const added = await runFhirWithInput(
      'correct horse\n',
      'user',
      'add',
      'Alice',
      '--scope',
      'user/*.rs',
      '--fhir-user',
      'Practitioner/1',
      '--data',
      data,
    )
    expect(added).toMatchObject({ code: 0, out: 'The user alice is added\n' })
    const { users, revocations } = opened(data)
    const { subject, password } = (await users.get('alice'))!
    const passwords = new Passwords()
    expect([await passwords.check('correct horse', password), await users.list()]).toMatchObject([true, [{ fhirUser: 'Practitioner/1' }]])
    const listed = await runFhir('user', 'list', '--json', '--data', data)
    expect(JSON.parse(listed.out)).toEqual({
      ...{ name: 'alice', subject, fhirUser: 'Practitioner/1', tenants: ['default'], scopes: ['user/*.rs'] },
    })
    expect((await runFhirWithInput('another horse', 'user', 'password', 'alice', '--data', data)).code).toBe(0)
    expect(await passwords.check('another horse', (await users.get('alice'))!.password)).toBe(true)
    expect((await revocations.revoked([`user:${subject}`])).size).toBe(1)
    expect((await runFhir('user', 'remove', 'alice', '--data', data)).code).toBe(0)
    expect(await users.list()).toEqual([])
    expect(await runFhir('user', 'remove', 'alice', '--data', data)).toEqual(failing('There is no user alice'))
  })

  it('rejects a wrong password, scope, option or name, and changes nothing', async () => {
    const data = newFolder()
    const add = ['user', 'add', 'alice', '--scope', 'user/*.rs', '--data', data]
    expect(await runFhirWithInput('short\n', ...add)).toEqual(failing('A password has 8 to 1000 characters'))
    const none = failing('No password came: type it, or send it through a pipe, as one line')
    for (const input of ['', '\n', '\ncorrect horse\n']) expect(await runFhirWithInput(input, ...add)).toEqual(none)
    expect((await runFhirWithInput('correct horse', ...add, '--password', 'x')).err).toContain("unknown option '--password'")
    // Rejected before the password is read.
    expect((await runFhirWithInput('', 'user', 'add', 'alice', '--scope', 'none', '--data', data)).err).toBe(
      'fhir: "none" is no scope of this server\n',
    )
    expect(await opened(data).users.list()).toEqual([])
    expect((await runFhirWithInput('', 'user', 'password', 'bob', '--data', data)).err).toBe('fhir: There is no user bob\n')
  })

  it('warns of a user and an app that cannot be used yet', async () => {
    const data = newFolder()
    for (const [name, ...who] of [['bob'], ['per', '--fhir-user', 'Person/1']])
      expect((await runFhirWithInput('correct horse', 'user', 'add', name!, '--scope', 'user/*.rs', ...who, '--data', data)).err).toContain(
        `fhir: tokens of ${name} give access to nothing: name the resource of the user with --fhir-user, as Practitioner/1\n`,
      )
    expect((await runFhir('client', 'add', 'app', '--public', '--scope', 'launch', '--data', data)).err).toBe(
      'fhir: no user can log in with app without a --redirect-uri\n',
    )
  })

  /** Runs a command at a terminal and types an answer to each prompt. */
  const atTerminal = (answers: readonly string[], ...args: readonly string[]): Promise<ProcessResult> => {
    const command = [process.execPath, 'bin/fhir.js', ...args].map((part) => `'${part}'`).join(' ')
    const child = spawn('script', ['-qec', command, '/dev/null'])
    runAtEnd(() => child.kill('SIGKILL'))
    // An interrupted command no longer reads its input.
    child.stdin.on('error', () => undefined)
    const left = [...answers]
    let out = ''
    child.stdout.on('data', (data) => {
      out += data
      // The terminal echoes input until the command turns the echo off.
      while (asked(out) > answers.length - left.length && left.length > 0) child.stdin.write(left.shift()!)
    })
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err: '' })))
  }
  const asked = (out: string): number => out.match(/(?:assword of alice|Once more): /g)?.length ?? 0
  const itAtTerminal = itRequiring('script', isProgramUsable('script', '-qec', 'true', '/dev/null'))
  const add = (data: string) => ['user', 'add', 'alice', '--scope', 'user/*.rs', '--data', data]
  const isPassword = async (data: string, typed: string) =>
    new Passwords().check(typed, (await opened(data).users.get('alice'))?.password ?? 'none')

  itAtTerminal('prompts twice at a terminal, and does not echo the password', async () => {
    const data = newFolder()
    const differing = await atTerminal(['correct horse\r', 'correct house\r'], ...add(data))
    expect([differing.code, differing.out.includes('That was another password')]).toEqual([1, true])
    const added = await atTerminal(['wrong\u0015correct horsE\u007fe\r', 'correct horse\r'], ...add(data))
    expect([added.code, added.out.includes('The user alice is added'), added.out.includes('horse')]).toEqual([0, true, false])
    expect(await isPassword(data, 'correct horse')).toBe(true)
  })

  itAtTerminal('accepts a password that is pasted together with its repetition', async () => {
    const data = newFolder()
    const pasted = await atTerminal(['pasted horse\rpasted horse\r'], ...add(data))
    expect([pasted.code, await isPassword(data, 'pasted horse')]).toEqual([0, true])
  })

  itAtTerminal('changes nothing if it is interrupted at either prompt', async () => {
    const data = newFolder()
    for (const answers of [['\u0003'], ['correct horse\r', '\u0003']]) {
      const interrupted = await atTerminal(answers, ...add(data))
      expect([interrupted.code, interrupted.out.includes('Nothing was changed')]).toEqual([1, true])
    }
    expect(existsSync(join(data, 'grants.db'))).toBe(false)
  })
})

describe('fhir keys', () => {
  it('rotates: the first key signs at once, the next after ten minutes or fifteen seconds', async () => {
    const data = newFolder()
    const keys = new FilesystemSigningKeys(join(data, 'signing-keys'))
    expect((await runFhir('client', 'add', 'app', ...APP, '--data', data)).code).toBe(0)
    expect((await runFhir('keys', 'list', '--data', data)).out).toContain('There are no keys')
    const said: string[] = []
    for (const args of [[], [], ['--now']]) said.push((await runFhir('keys', 'rotate', ...args, '--data', data)).out)
    const kids = (await keys.list()).map(({ key }) => key.kid)
    expect(said).toEqual(
      kids.map(
        (kid, i) => `The key ${kid} is made and published, and signs ${['from now on', 'in ten minutes', 'in fifteen seconds'][i]}\n`,
      ),
    )
    const rows = (await runFhir('keys', 'list', '--data', data)).out.trim().split('\n')
    expect(rows.slice(1).map((row) => [row.split(' ')[0], row.endsWith('signs')])).toEqual(kids.map((kid, i) => [kid, i === 0]))
    const retiring = (await keys.list()).map(({ madeAt, retiredAt }) => (retiredAt === undefined ? undefined : retiredAt - madeAt))
    expect([retiring[0]! > 15_000, retiring[1]! < 60_000, retiring[2]]).toEqual([true, true, undefined])
  })
})

describe('The registrations and keys of a server', () => {
  it('change beside a running server, are not in a backup, and survive a restore', async () => {
    const [data, file] = [newFolder(), join(newFolder(), 'saved.db')]
    const server = await startTokenServer('--data', data)
    const published = async (): Promise<readonly string[]> => {
      const { keys } = (await (await fetch(`${server.base}/auth/jwks`)).json()) as { readonly keys: readonly { readonly kid: string }[] }
      return keys.map(({ kid }) => kid)
    }
    const known = await published()
    expect((await runFhir('client', 'add', 'before-it', ...APP, '--data', data)).code).toBe(0)
    expect((await runFhir('keys', 'rotate', '--data', data)).code).toBe(0)
    expect([known.length, (await published()).filter((kid) => !known.includes(kid)).length]).toEqual([1, 1])
    expect((await runFhir('backup', file, '--data', data)).code).toBe(0)
    const { clients } = opened(data)
    const { authentication } = (await clients.get('before-it'))!
    const [kid] = (await new FilesystemSigningKeys(join(data, 'signing-keys')).list()).map(({ key }) => key.kid)
    const bytes = readFileSync(file)
    for (const secret of ['before-it', kid!, authentication.kind === 'secret' ? authentication.hashes[0]! : '']) {
      expect(secret.length).toBeGreaterThan(3)
      expect(bytes.includes(secret)).toBe(false)
    }
    expect((await runFhir('client', 'add', 'after-it', ...APP, '--data', data)).code).toBe(0)
    expect((await runFhir('restore', file, '--data', data)).code).toBe(0)
    expect((await clients.list()).map(({ id }) => id)).toEqual(expect.arrayContaining(['before-it', 'after-it']))
    expect(readdirSync(join(data, 'signing-keys'))).toContain(`${kid}.json`)
    expect(await server.stop()).toBe(0)
    expect((await runFhir('restore', file, '--data', data)).code).toBe(0)
    expect((await runFhir('client', 'list', '--data', data)).out).toContain('after-it')
  })

  it('take effect on a running server as soon as the command has ended', async () => {
    const data = newFolder()
    const { base, stop } = await startTokenServer('--data', data)
    const add = ['client', 'add', 'app', '--secret', '--scope', 'system/Patient.rs', '--json', '--data', data]
    const { client_secret: first } = JSON.parse((await runFhir(...add)).out) as { readonly client_secret: string }
    const asked = (secret: string) =>
      fetch(`${base}/auth/token`, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'client_credentials', client_id: 'app', client_secret: secret }),
      })
    const tokenOf = async (secret: string): Promise<string> =>
      ((await (await asked(secret)).json()) as { readonly access_token: string }).access_token
    const status = async (token: string): Promise<number> =>
      (await fetch(`${base}/Patient`, { headers: { authorization: `Bearer ${token}` } })).status
    const refused = async (token: string): Promise<void> => {
      expect(await eventually(() => status(token), { until: (answered) => answered !== 200, every: 100 })).toBe(401)
    }
    const before = await tokenOf(first)
    expect(await status(before)).toBe(200)
    const { client_secret: second } = JSON.parse((await runFhir('client', 'rotate', 'app', '--now', '--json', '--data', data)).out)
    expect([(await asked(first)).status, await status(await tokenOf(second))]).toEqual([401, 200])
    await refused(before)
    const last = await tokenOf(second)
    expect((await runFhir('keys', 'rotate', '--now', '--data', data)).code).toBe(0)
    expect([await status(last), await status(await tokenOf(second))]).toEqual([200, 200])
    expect((await runFhir('client', 'remove', 'app', '--data', data)).code).toBe(0)
    expect((await asked(second)).status).toBe(400)
    await refused(last)
    await stop()
  })

  const isRoot = process.getuid?.() === 0
  itRequiring('root', isRoot)('belong to the owner of the folder, even if root created them', async () => {
    const data = join(newFolder(), 'data')
    mkdirSync(data)
    chownSync(data, 65_534, 65_534)
    chmodSync(data, 0o700)
    expect((await runFhir('client', 'add', 'app', ...APP, '--data', data)).code).toBe(0)
    expect((await runFhir('keys', 'rotate', '--data', data)).code).toBe(0)
    const ours = readdirSync(data, { recursive: true, encoding: 'utf8' }).map((name) => statSync(join(data, name)).uid)
    expect([ours.length >= 3, new Set(ours)]).toEqual([true, new Set([65_534])])
  })

  it('leave audit records on disk beside those of the server, with the same retention', async () => {
    const data = newFolder()
    const { stop } = await startTokenServer('--data', data)
    await Promise.all(['a', 'b', 'c'].map((id) => runFhir('client', 'add', id, ...APP, '--data', data)))
    await stop()
    const records = commandRecordsIn(data)
    expect(records.map(({ client }) => client).toSorted()).toEqual(['a', 'b', 'c'])
    expect(records[0]).toMatchObject({
      at: expect.stringMatching(/Z$/),
      interaction: 'client add',
      operator: userInfo().username,
      status: 200,
    })
    const folder = join(data, 'audit')
    expect(statSync(commandRecordsFileIn(data)).mode & 0o777).toBe(0o600)
    chmodSync(folder, 0o700)
    writeFileSync(join(folder, '2020-01-01.commands.jsonl'), '{}\n')
    const again = await startTokenServer('--data', data)
    await fetch(`${again.base}/metadata`)
    await eventually(() => !existsSync(join(folder, '2020-01-01.commands.jsonl')))
    expect(commandRecordsIn(data)).toEqual(records)
    await again.stop()
    const taken = newFolder()
    writeFileSync(join(taken, 'audit'), '')
    const refused = `audit records cannot be written to ${join(taken, 'audit')}, and without one nothing is changed`
    expect(await runFhir('client', 'add', 'a', ...APP, '--data', taken)).toEqual(failing(refused))
    expect(await opened(taken).clients.list()).toEqual([])
  })

  it('are rejected if grants.db is a folder or not a database', async () => {
    const data = newFolder()
    mkdirSync(join(data, 'grants.db'))
    expect(await runFhir('client', 'list', '--data', data)).toEqual(failing(`${join(data, 'grants.db')} is not a file: move it away`))
    const text = newFolder()
    writeFileSync(join(text, 'grants.db'), 'of my bicycle: 4711')
    const file = join(text, 'grants.db')
    expect(await runFhir('client', 'list', '--data', text)).toEqual(failing(`${file} is damaged, or is no file of this server`))
  })
})
