/**
 * Asks the deployed functions as anybody: with tokens that say what a test wants, signed as the function of tokens signs them, by the key of the
 * stage in KMS. What stands in texts for the server's base is exchanged for the real one, both ways.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { openDeploymentAdministration } from '../../lambdas/runtime/aws/administration.ts'
import { base64UrlOf } from '../access/issuing.ts'
import type { Caller } from '../auth/isolation/oracle.ts'
import { BASE_URL, type CallerRequest, claimOf, operatorOf, type TestResponse, tenantHeaderOf } from '../auth/site.ts'
import type { DeploymentDescription } from './cloud.ts'

/** Seconds. */
const LONG = 3_600
/** Of X-Index-Token, so many as fit into headers besides an access token. */
const MAX_TOKENS = 20
const MAX_RETRIES = 10

/** Of a connection, or of one answer among equal ones. */
const PASSING = /^(?:date|connection|keep-alive|transfer-encoding|content-length|x-amz.*)$/

export function deployedCallerRequests(cloud: DeploymentDescription): CallerRequest {
  const base = process.env.FHIR_BASE_URL!
  const tokenOf = signing(cloud, base)
  const fromTheServer = (text: string): string => text.replaceAll(base, BASE_URL)
  const toTheServer = (text: string): string => text.replaceAll(BASE_URL, base)
  /** By tenant, what the index may not have come to yet. */
  const written = new Map<string, string[]>()

  const send: CallerRequest = async (caller, method, target, { body, headers = {} } = {}) => {
    const isBytes = body instanceof Uint8Array
    const type = typeof body === 'string' ? 'application/x-www-form-urlencoded' : 'application/fhir+json'
    const response = await fetch(base + toTheServer(target), {
      method,
      headers: {
        ...{
          accept: 'application/fhir+json',
          'accept-encoding': 'identity',
          authorization: `Bearer ${await tokenOf(caller)}`,
          ...tenantHeaderOf(caller),
        },
        ...(body === undefined || isBytes ? {} : { 'content-type': type }),
        ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, toTheServer(value)])),
      },
      ...(body === undefined
        ? {}
        : { body: isBytes ? Buffer.from(body) : toTheServer(typeof body === 'string' ? body : JSON.stringify(body)) }),
    })
    const text = fromTheServer(await response.text())
    const answered = [...response.headers].filter(([name]) => !PASSING.test(name)).map(([name, value]) => [name, fromTheServer(value)])
    const answer: TestResponse = {
      status: response.status,
      headers: Object.fromEntries(answered),
      text,
      body: text.startsWith('{') ? JSON.parse(text) : undefined,
    }
    const token = answer.headers['x-index-token']
    if (token !== undefined) written.set(caller.tenant, [...(written.get(caller.tenant) ?? []), token])
    return answer
  }

  /** Searches of their own, so that those of the test carry nothing besides. One that did not wait long enough says when to ask again. */
  async function catchUp(tenant: string): Promise<void> {
    for (let tokens = written.get(tenant)?.splice(0, MAX_TOKENS) ?? []; tokens.length > 0; ) {
      const waiting = { headers: { 'x-index-token': tokens.join(', ') } }
      let answer = await send(operatorOf(tenant), 'GET', '/Patient?_id=none', waiting)
      for (let again = 0; answer.status === 503 && again < MAX_RETRIES; again++) {
        await wait(Number(answer.headers['retry-after']) * 1_000)
        answer = await send(operatorOf(tenant), 'GET', '/Patient?_id=none', waiting)
      }
      if (answer.status !== 200) throw new Error(answer.text)
      tokens = written.get(tenant)!.splice(0, MAX_TOKENS)
    }
  }

  const catching = new Map<string, Promise<void>>()
  /** One after the other: what somebody else is waiting for is not there yet. */
  function caughtUp(tenant: string): Promise<void> {
    const next = (catching.get(tenant) ?? Promise.resolve()).then(() => catchUp(tenant))
    catching.set(tenant, next)
    return next
  }

  return async (caller, method, target, sent) => {
    if (method === 'GET' || target.includes('_search') || target === '/') await caughtUp(caller.tenant)
    return send(caller, method, target, sent)
  }
}

function signing({ awsEndpoint, deployment }: DeploymentDescription, base: string): (caller: Caller) => Promise<string> {
  const stateTable = Object.values(deployment.outputs).find(({ StateTableName }) => StateTableName !== undefined)!.StateTableName!
  Object.assign(process.env, { AWS_ENDPOINT_URL: awsEndpoint, AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' })
  const { keys } = openDeploymentAdministration({ stage: 'local', region: 'us-east-1', stateTable, auditRetentionDays: 1 })
  const tokens = new Map<Caller, Promise<string>>()
  let jti = 0
  const make = async (caller: Caller): Promise<string> => {
    const { client, scopes: scope, patient, fhirUser, actsFor: acts_for, isUser = false } = caller
    const [key] = await keys.list()
    const iat = Math.floor(Date.now() / 1_000)
    const standing = { iss: base, aud: base, iat, exp: iat + LONG, jti: `jti-${++jti}`, typ: 'Bearer', client_auth: 'secret' }
    const identity = { sub: isUser ? 'a-user' : client, azp: client, client_id: client, sid: 'sid', session_state: 'sid', acr: '0' }
    const header = base64UrlOf({ alg: 'RS256', typ: 'JWT', kid: key!.key.kid })
    const text = `${header}.${base64UrlOf({ ...standing, ...identity, tenant: claimOf(caller), scope, patient, fhirUser, acts_for })}`
    return `${text}.${Buffer.from(await keys.sign(key!.key.kid, Buffer.from(text))).toString('base64url')}`
  }
  return (caller) => {
    const token = tokens.get(caller) ?? make(caller)
    tokens.set(caller, token)
    return token
  }
}
