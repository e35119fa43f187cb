/** What may be registered, and what is refused with a reason. */
import { generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { clientKeysOf } from '../../../lambdas/auth/clients/client-keys.ts'
import { type ClientRegistration, toClient, toUser, type UserRegistration } from '../../../lambdas/auth/clients/registration.ts'
import { findRedirectUriProblem } from '../../../lambdas/auth/redirect-uri.ts'

describe('A redirect URI', () => {
  it.each([
    ['https://app.example.org/callback'],
    ['https://app.example.org:8443/callback?a=b'],
    ['https://app.example.org'],
    ['http://127.0.0.1/'],
    ['http://127.0.0.1:3000/callback'],
    ['http://[::1]:3000/callback'],
    ['http://localhost:3000/callback'],
    ['com.example.app:/callback'],
    ['com.example.app://callback'],
    ['org.my-app.v2+x:/'],
  ])('may be %s', (uri) => expect(findRedirectUriProblem(uri)).toBeUndefined())

  it.each([
    ['', 'characters'],
    ['https://app.example.org:0/callback', 'port 0'],
    ['http://127.0.0.1:0/callback', 'port 0'],
    ['callback', 'no URL'],
    ['/callback', 'no URL'],
    ['//app.example.org/', 'no URL'],
    ['javascript:alert(1)', 'scheme'],
    ['JavaScript:alert(1)', 'capitals'],
    ['java\nscript:alert(1)', 'characters'],
    ['data:text/html,hi', 'scheme'],
    ['vbscript:x', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['blob:https://app.example.org/1', 'scheme'],
    ['about:blank', 'scheme'],
    ['ftp://app.example.org/', 'scheme'],
    ['ws://app.example.org/', 'scheme'],
    ['myapp://callback', 'scheme'],
    ['http://app.example.org/', 'neither https'],
    ['http://127.0.0.1.example.org/', 'neither https'],
    ['http://localhost.example.org/', 'neither https'],
    ['http://127.0.0.2/', 'neither https'],
    ['http://2130706433/', 'another host'],
    ['http://0x7f.1/', 'another host'],
    ['https://APP.example.org/', 'another host'],
    ['https:app.example.org/', 'another host'],
    ['https:///app.example.org/', 'another host'],
    ['https:\\\\app.example.org/', 'characters'],
    ['https://app.example.org/#top', 'fragment'],
    ['https://app.example.org/#', 'fragment'],
    ['com.example.app:/callback#x', 'fragment'],
    ['https://user@app.example.org/', 'user'],
    ['https://user:secret@app.example.org/', 'user'],
    ['https://app.example.org/ ', 'characters'],
    [' https://app.example.org/', 'characters'],
    ['https://äpp.example.org/', 'characters'],
    ['https://*.example.org/', 'characters'],
    ['https://app.example.org/"', 'characters'],
    [`https://app.example.org/${'a'.repeat(2_000)}`, 'longer'],
  ])('may not be %j', (uri, reason) => expect(findRedirectUriProblem(uri)).toContain(reason))
})

describe('The keys of a client', () => {
  const rsa = (bits: number): JsonWebKey => generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({ format: 'jwk' })
  const ec = (namedCurve: string): JsonWebKey => generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' })
  const [strong, weak, p384, p256] = [rsa(2_048), rsa(1_024), ec('P-384'), ec('P-256')]
  const set = (...keys: readonly unknown[]): string => JSON.stringify({ keys })

  it('are those that can verify RS384 and ES384', () => {
    const [first, second] = [
      { ...strong, kid: 'a', alg: 'RS384', use: 'sig' },
      { ...p384, kid: 'b' },
    ]
    expect(clientKeysOf(set(first, second, { ...strong, kid: 'c', use: 'enc' }, { ...p256, kid: 'd' }))).toEqual([first, second])
  })

  it.each([
    ['no JSON', 'keys'],
    ['no JSON Web Key Set', '[]'],
    ['no JSON Web Key Set', '{"keys":{}}'],
    ['no JSON Web Key Set', '{"keys":[1]}'],
    ['no keys', '{"keys":[]}'],
    ['kid', set(strong)],
    ['RSA, or EC', set({ ...p256, kid: 'a' })],
    ['at least 2048 bits', set({ ...weak, kid: 'a' })],
    ['alg is RS384', set({ ...strong, kid: 'a', alg: 'RS256' })],
    ['alg is ES384', set({ ...p384, kid: 'a', alg: 'ES256' })],
    ['use is sig', set({ ...strong, kid: 'a', use: 'enc' })],
    ['numbers are wrong', set({ ...p384, x: p384.y, kid: 'a' })],
    ['one kid', set({ ...strong, kid: 'a' }, { ...p384, kid: 'a' })],
    ['RSA, or EC', set({ kty: 'none', kid: 'a' })],
  ])('are rejected: %s', (reason, text) => expect(() => clientKeysOf(text)).toThrow(reason))

  it('are rejected if private, without disclosing the secret', () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
    const text = set({ ...privateKey.export({ format: 'jwk' }), kid: 'a' })
    expect(() => clientKeysOf(text)).toThrow('private')
    expect(() => clientKeysOf(set({ kty: 'oct', k: 'c2VjcmV0', kid: 'a' }))).toThrow('private')
    for (const broken of [text.slice(0, -1), text])
      try {
        clientKeysOf(broken)
      } catch (error) {
        expect((error as Error).stack).not.toContain(text.slice(40, 60))
      }
  })
})

describe('A client', () => {
  const request: ClientRegistration = {
    ...{ id: 'app', name: ' An app ', scopes: ['system/Patient.rs launch', 'system/Patient.rs'], redirectUris: [], tenants: ['default'] },
    ...{ mayIntrospect: false, authentication: { kind: 'public' } },
  }

  it('holds the requested values, trimmed and without duplicates', () => {
    const uris = ['https://a.example/', 'https://a.example/']
    expect(toClient({ ...request, redirectUris: uris, tenants: ['a', '*'] }, 5)).toEqual({
      ...{ id: 'app', name: 'An app', scopes: ['system/Patient.rs', 'launch'], redirectUris: ['https://a.example/'], tenants: ['a', '*'] },
      ...{ mayIntrospect: false, authentication: { kind: 'public' }, registeredAt: 5, changedAt: 5 },
    })
    expect(toClient({ ...request, patient: 'p1', tenants: ['a', 'a'] }, 5)).toMatchObject({ patient: 'Patient/p1', tenants: ['a'] })
  })

  it.each<[string, Partial<ClientRegistration>]>([
    ['The id of a client', { id: 'a b' }],
    ['A name has', { name: ' ' }],
    ['A name has', { name: 'a\u202eb' }],
    ['A name has', { name: 'x'.repeat(201) }],
    ['Without a scope', { scopes: [] }],
    ['Without a scope', { scopes: [' '] }],
    ['"system/Nothing.rs" is no scope', { scopes: ['system/Nothing.rs'] }],
    ['"system/Patient.sr" is no scope', { scopes: ['system/Patient.sr'] }],
    ['is no scope', { scopes: ['admin'] }],
    ['More than 100 scopes', { scopes: Array.from({ length: 101 }, (_, i) => `system/Patient.r?a=${i}`) }],
    ['The redirect URI "javascript:1" has a scheme', { redirectUris: ['https://a.example/', 'javascript:1'] }],
    ['More than 100 redirect', { redirectUris: Array.from({ length: 101 }, (_, i) => `https://a.example/${i}`) }],
    ['no tenant', { tenants: [] }],
    ['"a b" is no tenant', { tenants: ['a', 'a b'] }],
    ['is none of Patient', { patient: 'Practitioner/1' }],
    ['is none of Patient', { patient: 'Patient/1/2' }],
    ['is none of Patient', { patient: 'a b' }],
    ['Patient/p1 names another person in each tenant', { patient: 'p1', tenants: ['*'] }],
    ['Patient/p1 names another person in each tenant', { patient: 'p1', tenants: ['a', 'b'] }],
    ['https URL', { authentication: { kind: 'uri', uri: 'http://a.example/jwks' } }],
    ['https URL', { authentication: { kind: 'uri', uri: 'jwks' } }],
    ['https URL', { authentication: { kind: 'uri', uri: 'https://u:p@a.example/jwks' } }],
  ])('is rejected: %s', (reason, change) => {
    expect(() => toClient({ ...request, ...change }, 5)).toThrow(reason)
    expect(() => toClient({ ...request, ...change }, 5)).toThrow(RangeError)
  })
})

describe('A partner', () => {
  const NPI = { system: 'http://hl7.org/fhir/sid/us-npi', value: '1234567893' }
  const request: ClientRegistration = {
    ...{ id: 'payer', name: 'A payer', scopes: ['system/*.rs'], redirectUris: [], tenants: ['default'], mayIntrospect: false },
    ...{ authentication: { kind: 'uri', uri: 'https://payer.example.org/jwks' }, partner: { kind: 'payer', identifiers: [NPI] } },
  }

  it('keeps its kind and identifiers', () => expect(toClient(request, 5).partner).toEqual({ kind: 'payer', identifiers: [{ ...NPI }] }))

  it.each<[string, Partial<ClientRegistration>]>([
    ['register its public keys', { authentication: { kind: 'secret', hashes: [] } }],
    ['register its public keys', { authentication: { kind: 'public' } }],
    ['cannot have a redirect URI', { redirectUris: ['https://payer.example.org/'] }],
    ['or a patient', { patient: 'p1' }],
    ['cannot introspect tokens', { mayIntrospect: true }],
    ['"system/*.cruds" is another scope', { scopes: ['system/*.rs', 'system/*.cruds'] }],
    ['"user/*.rs" is another scope', { scopes: ['user/*.rs'] }],
    ['"system/admin" is another scope', { scopes: ['system/admin'] }],
    ['1 to 10 identifiers', { partner: { kind: 'payer', identifiers: [] } }],
    ['1 to 10 identifiers', { partner: { kind: 'provider', identifiers: Array.from({ length: 11 }, () => NPI) } }],
    ['is no identifier', { partner: { kind: 'payer', identifiers: [{ system: 'npi', value: '1' }] } }],
    ['is no identifier', { partner: { kind: 'payer', identifiers: [{ ...NPI, value: '1,2' }] } }],
    ['is no identifier', { partner: { kind: 'payer', identifiers: [{ ...NPI, value: ' 1' }] } }],
    ['is no identifier', { partner: { kind: 'payer', identifiers: [{ ...NPI, value: '' }] } }],
    ['is no identifier', { partner: { kind: 'payer', identifiers: [{ ...NPI, system: 'http://a.example/|' }] } }],
  ])('is rejected: %s', (reason, change) => expect(() => toClient({ ...request, ...change }, 5)).toThrow(reason))
})

describe('A user', () => {
  const request: UserRegistration = { name: 'Alice@Example.org', scopes: ['user/*.rs'], tenants: ['default'] }
  const kept = { subject: 's', password: 'p', changedAt: 5 }

  it('gets a name in lower case', () =>
    expect(toUser({ ...request, fhirUser: 'Practitioner/1' }, kept)).toEqual({
      ...{ ...kept, name: 'alice@example.org', scopes: ['user/*.rs'], tenants: ['default'], fhirUser: 'Practitioner/1' },
    }))

  it.each<[string, Partial<UserRegistration>]>([
    ['The name of a user', { name: 'a b' }],
    ['Without a scope', { scopes: [] }],
    ['no tenant', { tenants: [] }],
    ['is none of', { fhirUser: 'Group/1' }],
    ['is none of', { fhirUser: 'Practitioner' }],
    ['Patient/1 names another person in each tenant', { fhirUser: 'Patient/1', tenants: ['*'] }],
    ['RelatedPerson/1 names another person in each tenant', { fhirUser: 'RelatedPerson/1', tenants: ['a', 'b'] }],
  ])('is rejected: %s', (reason, change) => expect(() => toUser({ ...request, ...change }, kept)).toThrow(reason))
})
