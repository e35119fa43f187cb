/** Whose data a token opens, and which of them a request is about. */
import { describe, expect, it } from '@jest/globals'
import { gatewayAuthenticator, openAuthenticator } from '../../lambdas/http/authenticators.ts'
import type { HttpRequest } from '../../lambdas/http/exchange.ts'
import { createTestIssuer } from './issuing.ts'

const on = () => createTestIssuer({ tenancy: true })

describe('With tenancy', () => {
  it.each([
    ['a', undefined, 'a'],
    ['a', 'a', 'a'],
    ['a', 'b', 403],
    ['a', 'a, b', 400],
    ['a', '', 400],
    ['a', 'ä', 400],
    ['a', 'a'.repeat(65), 400],
    [['a', 'b'], undefined, 400],
    [['a', 'b'], 'b', 'b'],
    [['a', 'b'], 'c', 403],
    [['a', 'b'], '*', 400],
    [['a'], undefined, 'a'],
    [['a', 'a'], undefined, 'a'],
    [['a'], 'b', 403],
    [['*'], undefined, 400],
    [['a'], 'a', 'a'],
    ['*', undefined, 400],
    ['*', 'any_Name-1', 'any_Name-1'],
    [['a', '*'], 'b', 'b'],
    [undefined, undefined, 403],
    [undefined, 'a', 403],
    [[], 'a', 403],
    ['', 'a', 401],
    ['a b', 'a', 401],
    ['a,b', 'a', 401],
    [['a', 1], 'a', 401],
    [null, 'a', 401],
    [{ a: 1 }, 'a', 401],
  ])('gives for a token of %j with X-Tenant-Id %j: %p', async (claim, header, expected) => {
    const it = on()
    const asked = it.verifyToken(it.token({ tenant: claim }), header)
    if (typeof expected === 'string') expect((await asked).tenant).toBe(expected)
    else await expect(asked).rejects.toMatchObject({ status: expected })
  })

  it('gives one token each of its tenants by choice, repeatedly', async () => {
    const it = on()
    const token = it.token({ tenant: ['a', 'b'] })
    const tenants = []
    for (const tenant of ['a', 'b', 'b', 'a']) tenants.push((await it.verifyToken(token, tenant)).tenant)
    expect([tenants, it.signatures()]).toEqual([['a', 'b', 'b', 'a'], 1])
  })

  it.each([
    [['a', 'b'], { patient: '1' }],
    ['*', { patient: '1' }],
    ['*', { fhirUser: 'Patient/1' }],
    [['a', 'b'], { fhirUser: 'https://elsewhere.example/RelatedPerson/1' }],
    [['a', 'b'], { fhirUser: 'RelatedPerson/1', acts_for: ['1'] }],
  ])('rejects a token of %j about %j, since ids differ per tenant', async (tenant, claims) => {
    const it = on()
    await expect(it.verifyToken(it.token({ tenant, ...claims }), 'a')).rejects.toMatchObject({ status: 403 })
    expect((await it.verifyToken(it.token({ tenant: ['a'], ...claims }), 'a')).tenant).toBe('a')
    expect((await it.verifyToken(it.token({ tenant, fhirUser: 'Practitioner/1' }), 'a')).tenant).toBe('a')
    const without = [tenant, 'default'].flat()
    expect((await createTestIssuer().verifyToken(createTestIssuer().token({ tenant: without, ...claims }))).tenant).toBe('default')
  })

  it('reads the tenant from the configured claim', async () => {
    const it = createTestIssuer({ tenancy: true, tenantClaim: 'organization' })
    expect((await it.verifyToken(it.token({ organization: 'a', tenant: 'b' }))).tenant).toBe('a')
    await expect(it.verifyToken(it.token({ tenant: 'b' }))).rejects.toMatchObject({ status: 403 })
  })
})

describe('Without tenancy', () => {
  it.each([[undefined], ['default'], [['a', 'default']], ['*']])('gives a token of %j the default tenant', async (tenant) => {
    const it = createTestIssuer()
    for (const header of [undefined, 'default']) expect((await it.verifyToken(it.token({ tenant }), header)).tenant).toBe('default')
  })

  it.each([['a'], [['a', 'b']], ['Default']])('rejects a token of %j', async (tenant) => {
    const it = createTestIssuer()
    const refused = { status: 403, issues: [{ text: expect.stringContaining('FHIR_TENANCY') }] }
    for (const header of [undefined, 'default']) await expect(it.verifyToken(it.token({ tenant }), header)).rejects.toMatchObject(refused)
  })

  it.each([['a'], ['Default'], ['a b'], ['']])('rejects another X-Tenant-Id: %j', async (header) => {
    const it = createTestIssuer()
    for (const tenant of [undefined, 'default', 'a', '*'])
      await expect(it.verifyToken(it.token({ tenant }), header)).rejects.toMatchObject({ status: 400 })
  })

  it('rejects another X-Tenant-Id also for servers without tokens', () => {
    const http = { headers: { 'x-tenant-id': 'a' }, arn: 'arn:aws:iam::1:user/x' } as unknown as HttpRequest
    for (const authenticator of [openAuthenticator, gatewayAuthenticator]) {
      expect(() => authenticator(http)).toThrow(expect.objectContaining({ status: 400 }))
      expect(authenticator({ ...http, headers: { 'x-tenant-id': 'default' } })).toMatchObject({ tenant: 'default' })
    }
  })
})
