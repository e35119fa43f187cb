import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { importJWK, type JWK, jwtVerify } from 'jose'
import { parseSigningKey, requestAssertionToken } from '../../../bin/client/assertion-token.ts'
import { kickOffRequestOf, type RequestedExport } from '../../../bin/export/kick-off.ts'
import { startBulkServer } from './bulk-server.ts'

const NOTHING: RequestedExport = { base: 'http://x/fhir', level: 'system', types: [], elements: [], filters: [], patients: [] }

describe('A kick-off', () => {
  it('has the URL of its level', () => {
    expect(kickOffRequestOf(NOTHING)).toEqual({ url: 'http://x/fhir/$export' })
    expect(kickOffRequestOf({ ...NOTHING, level: 'patients' })).toEqual({ url: 'http://x/fhir/Patient/$export' })
    expect(kickOffRequestOf({ ...NOTHING, level: { group: 'a/b' } })).toEqual({ url: 'http://x/fhir/Group/a%2Fb/$export' })
  })

  const all = {
    ...NOTHING,
    types: ['Patient', 'Observation'],
    since: '2026-01-01T00:00:00+01:00',
    filters: ['Observation?code=a,b', 'Patient?_id=1'],
  }

  it('sends its parameters in the query', () => {
    const { searchParams } = new URL(kickOffRequestOf({ ...all, elements: ['id', 'Patient.name'] }).url)
    expect([...searchParams]).toEqual([
      ['_type', 'Patient,Observation'],
      ['_since', '2026-01-01T00:00:00+01:00'],
      ['_elements', 'id,Patient.name'],
      ['_typeFilter', 'Observation?code=a,b'],
      ['_typeFilter', 'Patient?_id=1'],
    ])
  })

  it('names patients in a Parameters body', () => {
    const { url, body } = kickOffRequestOf({ ...all, level: 'patients', patients: ['Patient/1'] })
    expect(url).toBe('http://x/fhir/Patient/$export')
    expect(JSON.parse(body!)).toEqual({
      resourceType: 'Parameters',
      parameter: [
        { name: '_type', valueString: 'Patient,Observation' },
        { name: '_since', valueInstant: '2026-01-01T00:00:00+01:00' },
        { name: '_typeFilter', valueString: 'Observation?code=a,b' },
        { name: '_typeFilter', valueString: 'Patient?_id=1' },
        { name: 'patient', valueReference: { reference: 'Patient/1' } },
      ],
    })
  })
})

describe('A client with a private key', () => {
  const pairs = {
    ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    RS384: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  }

  it.each(['ES384', 'RS384'] as const)('gets a token for an assertion signed with %s', async (alg) => {
    const server = await startBulkServer({
      'GET /.well-known/smart-configuration': [{ status: 200, body: JSON.stringify({ token_endpoint: '{base}/auth/token' }) }],
      'POST /auth/token': [{ status: 200, body: JSON.stringify({ access_token: 't' }) }],
    })
    const { privateKey, publicKey } = pairs[alg]
    const key = parseSigningKey(JSON.stringify({ keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'k' }] }))
    expect(await requestAssertionToken({ base: server.base, client: 'c', key, scope: 'system/*.rs' })).toBe('t')
    const form = new URLSearchParams(server.requests.at(-1)!.body)
    expect(form.get('grant_type')).toBe('client_credentials')
    const { payload, protectedHeader } = await jwtVerify(
      form.get('client_assertion')!,
      await importJWK(publicKey.export({ format: 'jwk' }) as JWK, alg),
      {
        issuer: 'c',
        subject: 'c',
        audience: `${server.base}/auth/token`,
        algorithms: [alg],
      },
    )
    expect(protectedHeader).toEqual({ alg, kid: 'k', typ: 'JWT' })
    expect(payload.exp! * 1000 - Date.now()).toBeLessThan(300_000)
  })

  it.each([
    ['no', 'It holds no private JSON Web Key'],
    [JSON.stringify({ ...pairs.ES384.publicKey.export({ format: 'jwk' }), kid: 'k' }), 'It holds no private JSON Web Key'],
    [JSON.stringify(pairs.ES384.privateKey.export({ format: 'jwk' })), 'Its key has no kid'],
    [JSON.stringify({ kty: 'OKP', d: 'x', kid: 'k' }), 'Its key is neither RSA nor EC of the curve P-384'],
    [JSON.stringify({ kty: 'RSA', d: 'x', kid: 'k' }), 'The numbers of its key are wrong'],
  ])('is rejected with the reason for an invalid key file', (text, reason) => expect(() => parseSigningKey(text)).toThrow(reason))
})
