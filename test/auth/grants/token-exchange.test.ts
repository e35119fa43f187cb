/** Token exchange: a view never shows more than the person's own token. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { explorerClientOf } from '../../../lambdas/auth/clients/explorer-client.ts'
import { createAccessToken, type TokenGrant } from '../../../lambdas/auth/tokens/access-token.ts'
import type { Client } from '../../../lambdas/ports/rows/clients.ts'
import {
  type AuthorizationSettings,
  BASE_URL,
  CLIENT_SECRET,
  claimsOf,
  createAuthorization,
  START_TIME,
  type TestAuthorization,
} from '../authorization.ts'

const TYPE = 'urn:ietf:params:oauth:token-type:access_token'
const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const PATIENTS = [
  { id: '1', name: 'Ann', sex: 'female' },
  { id: '2', name: 'Bob', sex: 'male' },
]

let auth: TestAuthorization

/** `other` has the rights of the explorer. `partner`: a backend of other scopes. `staff`: a person who may do everything. */
async function start(settings: AuthorizationSettings = {}): Promise<void> {
  auth = await createAuthorization({ patients: PATIENTS, ...settings })
  const explorer = explorerClientOf(BASE_URL)
  await auth.clients.change('explorer', () => explorer)
  await auth.clients.change('other', () => ({ ...explorer, id: 'other' }))
  await auth.addClient('partner', {
    scopes: ['system/Patient.cruds', 'system/Observation.rs?category=laboratory', 'system/admin', 'launch'],
  })
  await auth.addUser('staff', { scopes: ['user/*.cruds', 'system/admin'], fhirUser: 'Practitioner/1' })
}

beforeEach(() => start())

type Asked = Partial<Omit<TokenGrant, 'client'>> & { readonly user?: string; readonly client?: string }

/** Returns an access token as the explorer gets it for a person. */
async function tokenOf({ user: name = 'staff', client: id = 'explorer', about = {}, ...more }: Asked = {}): Promise<string> {
  const user = (await auth.users.get(name))!
  const client = (await auth.clients.get(id)) as Client
  const { token } = await createAccessToken(auth.ports, {
    ...{ client, by: 'none', baseUrl: BASE_URL, subject: user.subject, sid: 'sid-1', acr: '1', tenants: user.tenants },
    scopes: ['openid', 'fhirUser', ...user.scopes],
    about: {
      preferred_username: name,
      ...(user.fhirUser === undefined ? {} : { fhirUser: user.fhirUser }),
      ...(user.generation === undefined ? {} : { user_generation: user.generation }),
      ...about,
    },
    ...more,
  })
  return token
}

const exchange = async (asked: Readonly<Record<string, string>>, token?: string) =>
  auth.ask('POST', '/auth/token', {
    form: { grant_type: GRANT, client_id: 'explorer', subject_token_type: TYPE, subject_token: token ?? (await tokenOf()), ...asked },
  })

const scopeFor = async (asked: Readonly<Record<string, string>>, token?: string): Promise<string> => {
  const { body } = await exchange(asked, token)
  return body.scope ?? body.error
}

const errorFor = async (asked: Readonly<Record<string, string>>, token?: string): Promise<string> => {
  const { status, body } = await exchange(asked, token)
  return `${status} ${body.error}`
}

describe('an exchanged token', () => {
  it('has the claims of the person, and a claim with the client', async () => {
    const subject = await tokenOf()
    const { status, headers, body } = await exchange({ as_client: 'partner' }, subject)
    expect([status, headers['cache-control']]).toEqual([200, 'no-store'])
    expect(body).toEqual({
      access_token: expect.any(String),
      expires_in: 300,
      refresh_expires_in: 0,
      token_type: 'Bearer',
      'not-before-policy': 0,
      session_state: 'sid-1',
      scope: 'user/Patient.rs user/Observation.rs?category=laboratory',
      issued_token_type: TYPE,
      seen_as: 'partner',
    })
    const { jti } = claimsOf(subject)
    expect(claimsOf(body.access_token)).toEqual({
      ...claimsOf(subject),
      exp: START_TIME / 1000 + 300,
      jti: expect.not.stringMatching(`^${jti}$`),
      scope: body.scope,
      seen_as: 'partner',
      subject_jti: jti,
    })
  })

  it('has the claims of the partner that the client is, and a member in context', async () => {
    const partner = { kind: 'provider', identifiers: [{ system: 'http://hl7.org/fhir/sid/us-npi', value: '1234567893' }] } as const
    await auth.addClient('hospital', { scopes: ['system/*.rs'], partner })
    const { body } = await exchange({ as_client: 'hospital', patient: '1' })
    expect(claimsOf(body.access_token)).toMatchObject({
      ...{ client_id: 'explorer', seen_as: 'hospital', patient: '1', scope: 'user/*.rs' },
      ...{ partner: 'provider', partner_identifiers: ['http://hl7.org/fhir/sid/us-npi|1234567893'] },
      member_limits: { at: expect.any(Number), excluded: ['urn:x|sensitive'] },
    })
    expect(claimsOf((await exchange({ as_client: 'partner' })).body.access_token)).not.toHaveProperty('partner')
  })

  it('is recorded with the client and the person', async () => {
    await exchange({ as_client: 'partner' })
    expect(auth.audited).toMatchObject([{ interaction: 'token', client: 'explorer', user: 'staff', seenAs: 'partner', outcome: GRANT }])
    await exchange({ scope: 'user/*.rs' })
    expect(auth.audited.at(-1)).toMatchObject({ seenAs: 'fhir:scopes' })
  })

  it('does not outlive the token of the person', async () => {
    const subject = await tokenOf({ life: 400 })
    auth.later(390_000)
    const { body } = await exchange({ scope: 'user/*.rs' }, subject)
    expect([body.expires_in, claimsOf(body.access_token).exp]).toEqual([10, claimsOf(subject).exp])
  })

  it.each(['jti', 'sid', 'user', 'client'] as const)('ends with the %s of the person', async (kind) => {
    await auth.addClient('app', { mayIntrospect: true })
    const subject = await tokenOf()
    const { access_token } = (await exchange({ scope: 'user/*.rs' }, subject)).body
    const form = { client_id: 'app', client_secret: CLIENT_SECRET, token: access_token }
    const isActive = async () => (await auth.ask('POST', '/auth/introspect', { form })).body.active
    expect(await isActive()).toBe(true)
    const { jti, sid, sub } = claimsOf(subject)
    const mark = { jti: `jti:${jti}`, sid: `sid:${sid}`, user: `user:${sub}`, client: 'client:explorer' }[kind] as `jti:${string}`
    await auth.revocations.revoke({ mark, before: START_TIME, until: START_TIME + 3_600_000 })
    expect(await isActive()).toBe(false)
  })

  it('is not exchanged again', async () => {
    const { access_token } = (await exchange({ scope: 'user/*.rs' })).body
    expect(await errorFor({ scope: 'user/*.rs' }, access_token)).toBe('400 invalid_request')
  })
})

describe('the scopes', () => {
  it.each([
    ['user/Patient.cruds', 'user/Patient.rs'],
    ['system/*.cruds', 'user/*.rs'],
    ['user/Patient.read user/Observation.write', 'user/Patient.rs'],
    ['user/*.rs system/admin openid fhirUser offline_access launch/patient unknown', 'user/*.rs'],
    ['user/Observation.s?category=laboratory', 'user/Observation.s?category=laboratory'],
    ['user/Patient.cud', 'invalid_scope'],
    ['system/admin', 'invalid_scope'],
    ['openid fhirUser', 'invalid_scope'],
    ['nothing', 'invalid_scope'],
    ['user/Observation.rs?subject.name=x', 'invalid_scope'],
  ])('%s are read as %s', async (scope, granted) => expect(await scopeFor({ scope })).toBe(granted))

  it.each([
    [['user/Patient.r'], 'user/*.cruds', 'user/Patient.r'],
    [['user/Observation.rs?category=laboratory'], 'user/*.rs', 'user/Observation.rs?category=laboratory'],
    [['user/Observation.rs?category=a'], 'user/Observation.rs?status=final', 'user/Observation.rs?status=final&category=a'],
    [['user/Observation.rs'], 'user/Patient.rs', 'invalid_scope'],
    [['user/Patient.cud'], 'user/Patient.cruds', 'invalid_scope'],
    [['patient/*.rs'], 'user/*.rs', 'invalid_scope'],
  ])('never exceed those of a person with %j: %s', async (scopes, scope, granted) => {
    await auth.addUser('some', { scopes, fhirUser: 'Practitioner/2' })
    expect(await scopeFor({ scope }, await tokenOf({ user: 'some' }))).toBe(granted)
  })

  it('never exceed those of the token, if the user has more', async () =>
    expect(await scopeFor({ scope: 'user/*.rs' }, await tokenOf({ scopes: ['user/Patient.rs'] }))).toBe('user/Patient.rs'))

  it('never exceed those of the user or the explorer, if the token has more', async () => {
    const subject = await tokenOf()
    await auth.addUser('staff', { scopes: ['user/Patient.rs', 'user/Observation.rs'], fhirUser: 'Practitioner/1' })
    expect(await scopeFor({ scope: 'user/*.rs' }, subject)).toBe('user/Patient.rs user/Observation.rs')
    await auth.clients.change('explorer', () => ({ ...explorerClientOf(BASE_URL), scopes: ['user/Observation.rs'] }))
    expect(await scopeFor({ scope: 'user/*.rs' }, subject)).toBe('user/Observation.rs')
  })

  it('have at most 20 conditions for a type, and 3,000 characters', async () => {
    const many = Array.from({ length: 21 }, (_, i) => `user/Observation.rs?code=${i}`).join(' ')
    expect(await scopeFor({ scope: many })).toBe('invalid_scope')
    expect(await scopeFor({ scope: `user/Observation.rs?code=${'x'.repeat(3_000)}` })).toBe('invalid_scope')
  })
})

describe('the view of a client', () => {
  it('requires system/admin, in the token and still for the user', async () => {
    expect(await errorFor({ as_client: 'partner' }, await tokenOf({ scopes: ['user/*.cruds'] }))).toBe('400 invalid_scope')
    const subject = await tokenOf()
    await auth.addUser('staff', { scopes: ['user/*.cruds'], fhirUser: 'Practitioner/1' })
    expect(await errorFor({ as_client: 'partner' }, subject)).toBe('400 invalid_scope')
  })

  it('hides client ids from a person without system/admin', async () => {
    const subject = await tokenOf({ scopes: ['user/*.cruds'] })
    const [found, unknown] = [await exchange({ as_client: 'partner' }, subject), await exchange({ as_client: 'x' }, subject)]
    expect(found.body).toEqual(unknown.body)
  })

  it('requires a registered client', async () => expect(await errorFor({ as_client: 'x' })).toBe('400 invalid_request'))

  it('needs a scope that both have', async () => {
    await auth.addClient('writer', { scopes: ['system/*.cud', 'openid'] })
    expect(await errorFor({ as_client: 'writer' })).toBe('400 invalid_scope')
  })

  it('keeps the patient of the client', async () => {
    await auth.addClient('app', { scopes: ['patient/*.rs'], patient: 'Patient/1' })
    const { body } = await exchange({ as_client: 'app' })
    expect([body.patient, claimsOf(body.access_token).patient, body.scope]).toEqual(['1', '1', 'patient/*.rs'])
    expect(await errorFor({ as_client: 'app', patient: '2' })).toBe('400 invalid_request')
  })
})

describe('the tenants', () => {
  beforeEach(() => start({ choices: { tenancy: true } }))

  it.each([
    [['*'], ['*'], undefined, '*'],
    [['*'], ['a'], undefined, 'a'],
    [['a', 'b'], ['b', 'c'], undefined, 'b'],
    [['a'], ['b'], undefined, 'invalid_scope'],
    [['*'], ['*'], 'a', 'a'],
    [['a', 'b'], ['*'], 'b', 'b'],
    [['a'], ['*'], 'b', 'invalid_scope'],
    [['*'], ['a'], 'b', 'invalid_scope'],
    [['*'], ['*'], '*', 'invalid_request'],
  ])('are common to a person with %j and a client with %j: %s gives %s', async (own, others, tenant, granted) => {
    await auth.addClient('of-some', { tenants: others })
    const { body } = await exchange({ as_client: 'of-some', ...(tenant && { tenant }) }, await tokenOf({ tenants: own }))
    expect(body.error ?? claimsOf(body.access_token).tenant).toBe(granted)
  })

  it('are those that the user and the explorer still have', async () => {
    const subject = await tokenOf({ tenants: ['*'] })
    await auth.addUser('staff', { scopes: ['user/*.cruds', 'system/admin'], fhirUser: 'Practitioner/1', tenants: ['a'] })
    expect(claimsOf((await exchange({ scope: 'user/*.rs' }, subject)).body.access_token).tenant).toBe('a')
    await auth.clients.change('explorer', () => ({ ...explorerClientOf(BASE_URL), tenants: ['b'] }))
    expect(await errorFor({ scope: 'user/*.rs' }, subject)).toBe('400 invalid_request')
  })

  it('are one, if a patient is in context', async () => {
    const asked = { scope: 'patient/*.rs', patient: '1' }
    expect(await errorFor(asked)).toBe('400 invalid_request')
    expect(claimsOf((await exchange({ ...asked, tenant: 'a' })).body.access_token)).toMatchObject({ tenant: 'a', patient: '1' })
  })

  it('are that of the patient', async () => {
    await start({ choices: { tenancy: true }, patients: [{ id: '1', name: 'Ann', tenant: 'a' }] })
    expect(await errorFor({ scope: 'patient/*.rs', patient: '1', tenant: 'b' })).toBe('400 invalid_request')
  })
})

describe('the patient', () => {
  const asked = { scope: 'patient/*.rs', patient: '1' }
  const addSome = (scopes: readonly string[], fhirUser?: string) => auth.addUser('some', { scopes, ...(fhirUser && { fhirUser }) })

  it('is in the context of the token', async () => {
    const { body } = await exchange(asked)
    expect([body.patient, body.scope, claimsOf(body.access_token).patient]).toEqual(['1', 'patient/*.rs', '1'])
  })

  it.each(['3', 'Patient/1', '../1', '1/_history/1', '1 '])('%j is rejected: the person may not read it', async (patient) =>
    expect(await errorFor({ ...asked, patient })).toBe('400 invalid_request'),
  )

  it.each([
    ['without a scope for Patient', ['user/Observation.rs'], 'Practitioner/2', 'invalid_request'],
    ['who may only search', ['user/*.s'], 'Practitioner/2', 'invalid_request'],
    ['with a condition that the patient meets', ['user/*.rs', 'user/Patient.rs?gender=female'], 'Practitioner/2', 'patient/*.rs'],
    ['with a condition that it does not meet', ['user/Observation.rs', 'user/Patient.rs?gender=male'], 'Practitioner/2', 'invalid_request'],
    ['without a fhirUser', ['user/*.rs'], undefined, 'invalid_scope'],
    ['who is that patient', ['user/*.rs'], 'Patient/1', 'patient/*.rs'],
    ['who is another patient', ['user/*.rs'], 'Patient/2', 'invalid_request'],
    ['of another server', ['user/*.rs'], 'https://other.example/Practitioner/1', 'invalid_request'],
  ])('must be readable for the person: %s', async (_, scopes, fhirUser, granted) => {
    await addSome(scopes, fhirUser)
    const found = await scopeFor(asked, await tokenOf({ user: 'some' }))
    expect(found.startsWith(granted)).toBe(true)
  })

  it('needs more than user/ scopes of a person without a fhirUser', async () => {
    await addSome(['user/Observation.rs', 'patient/Patient.rs'])
    await auth.clients.change('explorer', () => ({ ...explorerClientOf(BASE_URL), scopes: ['user/*.rs', 'patient/*.rs'] }))
    const subject = await tokenOf({ user: 'some', about: { patient: '1' } })
    expect(await scopeFor(asked, subject)).toBe('patient/Patient.rs')
  })

  it('is one that a related person acts for, in the token and now', async () => {
    await addSome(['user/*.rs'], 'RelatedPerson/1')
    auth.acting.set('RelatedPerson/1', ['1'])
    const subject = await tokenOf({ user: 'some', about: { acts_for: ['1'] } })
    const { body } = await exchange(asked, subject)
    expect(claimsOf(body.access_token)).toMatchObject({ fhirUser: 'RelatedPerson/1', acts_for: ['1'], patient: '1' })
    expect(await errorFor({ ...asked, patient: '2' }, subject)).toBe('400 invalid_request')
    auth.acting.set('RelatedPerson/1', ['2'])
    expect(await errorFor({ ...asked, patient: '2' }, subject)).toBe('400 invalid_request')
    expect(await errorFor({ scope: 'user/*.rs' }, subject)).toBe('400 invalid_request')
  })

  it('is that of the token, and patient/ scopes reach no other', async () => {
    await auth.clients.change('explorer', () => ({ ...explorerClientOf(BASE_URL), scopes: ['user/*.rs', 'patient/*.rs'] }))
    await addSome(['user/Patient.rs', 'patient/*.rs'], 'Practitioner/2')
    const subject = await tokenOf({ user: 'some', about: { patient: '1' } })
    const { body } = await exchange({ scope: 'patient/*.rs' }, subject)
    expect(body).toMatchObject({ patient: '1', scope: 'patient/*.rs' })
    expect(await scopeFor({ scope: 'patient/*.rs', patient: '2' }, subject)).toBe('patient/Patient.rs')
    expect(await scopeFor({ scope: 'user/*.rs' }, subject)).toBe('user/Patient.rs')
  })
})

describe('an exchange', () => {
  it.each([
    ['by another public client', { client_id: 'other' }, '400 unauthorized_client'],
    ['by another client with a secret', { client_id: 'partner', client_secret: CLIENT_SECRET }, '400 unauthorized_client'],
    ['without a subject token', { subject_token: '' }, '400 invalid_request'],
    ['without its type', { subject_token_type: '' }, '400 invalid_request'],
    ['of an ID token', { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }, '400 invalid_request'],
    ['for a refresh token', { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' }, '400 invalid_request'],
    ['with an actor', { actor_token: 'x' }, '400 invalid_request'],
    ['for scopes and a client', { as_client: 'partner' }, '400 invalid_request'],
    ['for neither', { scope: '' }, '400 invalid_request'],
  ])('%s is rejected', async (_, more, error) => expect(await errorFor({ scope: 'user/*.rs', ...more })).toBe(error))

  const view = { scope: 'user/*.rs' }

  it('rejects a token of another client', async () => {
    expect(await errorFor(view, await tokenOf({ client: 'other' }))).toBe('400 invalid_request')
    expect(await errorFor({ ...view, client_id: 'other' }, await tokenOf({ client: 'other' }))).toBe('400 unauthorized_client')
  })

  it('rejects a token without a person', async () => {
    const subject = await tokenOf({ subject: 'explorer', about: { preferred_username: undefined } })
    expect(await errorFor(view, subject)).toBe('400 invalid_request')
  })

  it('rejects an altered token', async () => {
    const [header, claims, signature] = (await tokenOf({ scopes: ['user/Patient.rs'] })).split('.')
    const text = Buffer.from(claims!, 'base64url').toString().replace('user/Patient.rs', 'user/*.cruds')
    for (const token of [
      `${header}.${Buffer.from(text).toString('base64url')}.${signature}`,
      `${header}.${claims}.`,
      'x',
      `${await tokenOf()} `,
    ])
      expect(await errorFor(view, token)).toBe('400 invalid_request')
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    expect(await errorFor(view, `${none}.${claims}.`)).toBe('400 invalid_request')
  })

  it('rejects an expired token, and a token of another issuer', async () => {
    const subject = await tokenOf({ life: 60 })
    auth.later(60_000)
    expect(await errorFor(view, subject)).toBe('400 invalid_request')
    expect(await errorFor(view, await tokenOf({ baseUrl: 'https://other.example/fhir' }))).toBe('400 invalid_request')
  })

  it.each(['jti', 'sid', 'user', 'client', 'all'] as const)('rejects a token that is revoked by %s', async (kind) => {
    const subject = await tokenOf()
    const { jti, sid, sub } = claimsOf(subject)
    const marks = { jti: `jti:${jti}`, sid: `sid:${sid}`, user: `user:${sub}`, client: 'client:explorer', all: 'all' } as const
    await auth.revocations.revoke({ mark: marks[kind] as 'all', before: START_TIME, until: START_TIME + 3_600_000 })
    expect(await errorFor(view, subject)).toBe('400 invalid_request')
  })

  it.each([
    ['that was removed', undefined],
    ['that another has replaced', { subject: 'another' }],
    ['with a new password', { generation: 'new' }],
    ['that is another person now', { fhirUser: 'Practitioner/2' }],
  ])('rejects the token of a user %s', async (_, more) => {
    const subject = await tokenOf()
    const before = (await auth.users.get('staff'))!
    await auth.users.change('staff', () => (more === undefined ? undefined : { ...before, ...more }))
    expect(await errorFor(view, subject)).toBe('400 invalid_request')
  })

  it('rejects a token of an earlier registration of the explorer', async () => {
    const subject = await tokenOf()
    await auth.clients.change('explorer', () => ({ ...explorerClientOf(BASE_URL), generation: 'new' }))
    expect(await errorFor(view, subject)).toBe('400 invalid_request')
  })
})
