/** A stage that issues tokens, on the deployed functions: from the command line that registers a client to a request with its token. */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { beforeAll, expect, it } from '@jest/globals'
import { clientOf, newId, type Tree } from '../api/server.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { patient } from '../fixtures/resources.ts'
import { runOnCloud } from './requested-deployment.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/fhir.js')

runOnCloud('a stage that gives tokens', {}, (cloud) => {
  const base = (): string => process.env.FHIR_BASE_URL!
  const { get, put } = clientOf(base)
  const folder = newFolder()
  let writer: Tree
  let reader: Tree
  beforeAll(async () => {
    mkdirSync(join(folder, '.fhir'))
    writeFileSync(join(folder, '.fhir', 'local.json'), JSON.stringify(cloud().deployment.outputs))
    writer = await runClient('add', 'writer', '--secret', '--scope', 'system/Patient.cruds')
    reader = await runClient('add', 'reader', '--secret', '--scope', 'system/Patient.rs')
  })

  /** Runs `fhir client` on the stage, and returns the client that it prints. */
  async function runClient(...words: readonly string[]): Promise<Tree> {
    const { awsEndpoint } = cloud()
    const environment = { AWS_ENDPOINT_URL: awsEndpoint, AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' }
    const command = [PROGRAM, 'client', ...words, '--stage', 'local', '--json']
    const child = spawn(process.execPath, command, { cwd: folder, env: { ...process.env, ...environment } })
    const [out, err] = await Promise.all([child.stdout.toArray(), child.stderr.toArray()])
    if (out.length === 0) throw new Error(Buffer.concat(err).toString())
    return JSON.parse(Buffer.concat(out).toString())
  }

  async function asked(endpoint: string, { client_id, client_secret }: Tree, form: Readonly<Record<string, string>>) {
    const authorization = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`
    const response = await fetch(`${base()}/auth/${endpoint}`, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams(form),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: (text === '' ? undefined : JSON.parse(text)) as Tree }
  }

  const given = async (client: Tree): Promise<string> => {
    const { status, body } = await asked('token', client, { grant_type: 'client_credentials' })
    expect([status, body.token_type]).toEqual([200, 'Bearer'])
    return body.access_token
  }
  const bearing = (token: string) => ({ authorization: `Bearer ${token}` })

  it('names its token endpoint, and publishes the key that signs its tokens', async () => {
    const { body } = await get('/.well-known/smart-configuration')
    expect([body.issuer, body.token_endpoint]).toEqual([base(), `${base()}/auth/token`])
    const { keys } = (await get('/auth/jwks')).body
    const [header] = (await given(reader)).split('.').map((part) => Buffer.from(part, 'base64url').toString())
    expect(keys.map(({ kid }: Tree) => kid)).toEqual([JSON.parse(header!).kid])
  })

  it('answers 401 without a token, and limits a token to its scopes', async () => {
    const id = newId()
    expect((await put(`/Patient/${id}`, patient(id))).status).toBe(401)
    const [mayWrite, mayRead] = [bearing(await given(writer)), bearing(await given(reader))]
    expect((await put(`/Patient/${id}`, patient(id), mayRead)).status).toBe(403)
    expect((await put(`/Patient/${id}`, patient(id), mayWrite)).status).toBe(201)
    expect((await get(`/Patient/${id}`)).status).toBe(401)
    expect((await get(`/Patient/${id}`, mayRead)).body.id).toBe(id)
    expect((await get('/Observation/x', mayRead)).status).toBe(403)
    expect((await get(`/Patient/${id}`, bearing(`${(await given(reader)).slice(0, -4)}AAAA`))).status).toBe(401)
  })

  it('rejects a wrong secret, and answers 404 for an unknown endpoint', async () => {
    const { status, body } = await asked('token', { ...reader, client_secret: 'wrong' }, { grant_type: 'client_credentials' })
    expect([status, body.error]).toEqual([401, 'invalid_client'])
    expect((await get('/auth/other')).status).toBe(404)
  })

  it('introspects and revokes a token', async () => {
    const token = await given(reader)
    expect((await asked('introspect', reader, { token })).body).toMatchObject({ active: true, client_id: 'reader' })
    expect((await get('/Patient/none', bearing(token))).status).toBe(404)
    expect((await asked('revoke', reader, { token })).status).toBe(200)
    expect((await asked('introspect', reader, { token })).body).toEqual({ active: false })
    // A function may cache the state of the token for three seconds.
    let status = 404
    for (let i = 0; i < 100 && status !== 401; i++) {
      await wait(200)
      status = (await get('/Patient/none', bearing(token))).status
    }
    expect(status).toBe(401)
  })

  it('serves its pages as HTML', async () => {
    const response = await fetch(`${base()}/auth/account`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
  })
})
