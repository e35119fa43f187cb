/** Who logged in: the ID token of each launch, and the documents it is proved by. */
import { createPublicKey } from 'node:crypto'
import { expect } from '@jest/globals'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, importJWK, type JWK, jwtVerify } from 'jose'
import type { Tree } from '../../fixtures/resources.ts'
import { expectCorsAllowed } from './discovery.ts'
import { type CompletedLaunch, type KitRow, ORIGIN, rowsOfEachLaunch, type Site } from './kit.ts'

type Of = (site: Site) => CompletedLaunch

/** Of the issuer whom the token names. */
const configuration = (site: Site, of: Of) => site.get(`${decodeJwt(of(site).token.body.id_token).iss}/.well-known/openid-configuration`)
const jwks = async (site: Site, of: Of) => site.get((await configuration(site, of)).body.jwks_uri)
const rsaKeys = async (site: Site, of: Of): Promise<readonly Tree[]> =>
  (await jwks(site, of)).body.keys.filter(({ kty }: Tree) => kty === 'RSA')

async function verified(site: Site, of: Of) {
  const keys = createLocalJWKSet((await jwks(site, of)).body)
  const { issuer } = (await configuration(site, of)).body
  return (await jwtVerify(of(site).token.body.id_token, keys, { issuer, audience: of(site).flow.client, algorithms: ['RS256'] })).payload
}

const DOCUMENTS = (of: Of): readonly KitRow[] => [
  [
    'smart/smart_openid_decode_id_token',
    'the ID token is a JWT',
    (site) =>
      expect([typeof decodeProtectedHeader(of(site).token.body.id_token), typeof decodeJwt(of(site).token.body.id_token)]).toEqual([
        'object',
        'object',
      ]),
  ],
  [
    'smart/smart_openid_retrieve_configuration',
    'its issuer answers openid-configuration by 200',
    async (site) => expect((await configuration(site, of)).status).toBe(200),
  ],
  [
    'smart/smart_openid_retrieve_configuration',
    'openid-configuration has a Content-Type of application/json',
    async (site) => expect((await configuration(site, of)).headers['content-type']).toMatch(/^application\/json/),
  ],
  [
    'smart/smart_openid_retrieve_configuration',
    'openid-configuration is JSON',
    async (site) => void JSON.parse((await configuration(site, of)).text),
  ],
  ...[
    ...['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri', 'response_types_supported', 'subject_types_supported'],
    'id_token_signing_alg_values_supported',
  ].map(
    (name): KitRow => [
      'smart/smart_openid_required_configuration_fields',
      `openid-configuration has ${name}`,
      async (site) => expect((await configuration(site, of)).body[name]?.length).toBeGreaterThan(0),
    ],
  ),
  [
    'smart/smart_openid_required_configuration_fields',
    'ID tokens may be signed by RS256',
    async (site) => expect((await configuration(site, of)).body.id_token_signing_alg_values_supported).toContain('RS256'),
  ],
  ['smart/smart_openid_retrieve_jwks', 'the keys are answered by 200', async (site) => expect((await jwks(site, of)).status).toBe(200)],
  ['smart/smart_openid_retrieve_jwks', 'the keys are JSON', async (site) => void JSON.parse((await jwks(site, of)).text)],
  [
    'smart/smart_openid_retrieve_jwks',
    'the keys are a list',
    async (site) => expect(Array.isArray((await jwks(site, of)).body.keys)).toBe(true),
  ],
  [
    'smart/smart_openid_retrieve_jwks',
    'there are keys of RSA',
    async (site) => expect((await rsaKeys(site, of)).length).toBeGreaterThan(0),
  ],
  [
    'smart/smart_openid_retrieve_jwks',
    'each key of RSA is one, and public',
    async (site) => {
      for (const key of await rsaKeys(site, of))
        expect([createPublicKey({ key, format: 'jwk' }).type, key.d]).toEqual(['public', undefined])
    },
  ],
]

const PROOF = (of: Of): readonly KitRow[] => [
  [
    'smart/smart_openid_token_header',
    'the ID token is signed by RS256',
    (site) => expect(decodeProtectedHeader(of(site).token.body.id_token).alg).toBe('RS256'),
  ],
  [
    'smart/smart_openid_token_header',
    'its kid is that of a published key',
    async (site) =>
      expect((await rsaKeys(site, of)).map(({ kid }) => kid)).toContain(decodeProtectedHeader(of(site).token.body.id_token).kid),
  ],
  [
    'smart/smart_openid_token_payload',
    'that key verifies it',
    async (site) => {
      const { kid } = decodeProtectedHeader(of(site).token.body.id_token)
      const key = (await rsaKeys(site, of)).find((each) => each.kid === kid)
      await jwtVerify(of(site).token.body.id_token, await importJWK(key as JWK, 'RS256'))
    },
  ],
  [
    'smart/smart_openid_token_payload',
    'it is of the issuer, for the client, and has not expired',
    async (site) => void (await verified(site, of)),
  ],
  ...['iss', 'sub', 'aud', 'exp', 'iat'].map(
    (claim): KitRow => [
      'smart/smart_openid_token_payload',
      `it has ${claim}`,
      async (site) => expect(Object.keys(await verified(site, of))).toContain(claim),
    ],
  ),
  ['smart/smart_openid_token_payload', 'sub is not empty', async (site) => expect((await verified(site, of)).sub).toMatch(/\S/)],
  [
    'smart/smart_openid_token_payload',
    'sub has 255 characters at most',
    async (site) => expect((await verified(site, of)).sub!.length).toBeLessThan(256),
  ],
]

const USER = (of: Of): readonly KitRow[] => {
  const fhirUser = (site: Site): string => String(decodeJwt(of(site).token.body.id_token).fhirUser)
  const read = (site: Site) => site.get(fhirUser(site), of(site).token.body.access_token, { origin: ORIGIN })
  const by = 'smart/smart_openid_fhir_user_claim'
  return [
    [by, 'fhirUser is there', (site) => expect(decodeJwt(of(site).token.body.id_token).fhirUser).toBeDefined()],
    [
      by,
      'fhirUser is the URL of a person',
      (site) => expect(fhirUser(site)).toMatch(/\/(?:Patient|Practitioner|RelatedPerson|Person)\/[A-Za-z0-9.-]{1,64}$/),
    ],
    [by, 'fhirUser is read with the token', async (site) => expect((await read(site)).status).toBe(200)],
    [
      by,
      'fhirUser leads to a resource of that type',
      async (site) => expect((await read(site)).body.resourceType).toBe(fhirUser(site).split('/').at(-2)),
    ],
    ['smart/smart_cors_openid_fhir_user_claim', 'fhirUser may be read from elsewhere', async (site) => expectCorsAllowed(await read(site))],
  ]
}

/** One of each kind: the documents are the same. */
const DISCOVERED = ['standalone, a secret', 'EHR launch, by POST']

export const OPENID: readonly KitRow[] = rowsOfEachLaunch((of, name) => [
  ...(DISCOVERED.includes(name) ? DOCUMENTS(of) : []),
  ...PROOF(of),
  ...USER(of),
  ...(/public|384/.test(name)
    ? [
        [
          'g10/g10_public_launch_id_token, g10_asymmetric_launch_id_token',
          'an ID token comes',
          (site) => expect(of(site).token.body.id_token).toMatch(/./),
        ] as KitRow,
      ]
    : []),
])
