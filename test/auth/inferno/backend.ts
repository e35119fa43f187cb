/** Backend services: a client that asks for itself, by a signed assertion. */
import { expect } from '@jest/globals'
import type { AssertionChanges } from '../assertions.ts'
import type { TestResponse } from '../authorization.ts'
import { type KitRow, type Site, THROTTLED_CLIENTS } from './kit.ts'

const ALGORITHMS = ['ES384', 'RS384'] as const
type Algorithm = (typeof ALGORITHMS)[number]

const asked = (
  site: Site,
  alg: Algorithm,
  form: Record<string, string> = {},
  changed: AssertionChanges = {},
  id = 'backend',
): Promise<TestResponse> =>
  site.token({ grant_type: 'client_credentials', scope: 'system/*.read', ...site.asserted(alg, id, changed), ...form })

/** Assertions that prove nothing. */
const INVALID: Readonly<Record<string, (now: number) => AssertionChanges>> = {
  'another issuer': () => ({ claims: { iss: 'not_a_valid_iss' } }),
  'another subject': () => ({ claims: { sub: 'not_a_valid_sub' } }),
  'another audience': () => ({ claims: { aud: 'https://other.example/token' } }),
  'an end that has come': (now) => ({ claims: { exp: now - 60 } }),
  'an end in an hour': (now) => ({ claims: { exp: now + 3_600 } }),
  'no end': () => ({ claims: { exp: undefined } }),
  'no jti': () => ({ claims: { jti: undefined } }),
  'a key nobody knows': () => ({ header: { kid: 'unknown' } }),
}

const REFUSED = ALGORITHMS.flatMap((alg): readonly KitRow[] => [
  [
    'smart/smart_backend_services_invalid_grant_type, g10/bulk_data_authorization Test02',
    `${alg}: another grant_type is refused`,
    async (site) => expect((await asked(site, alg, { grant_type: 'not_a_grant_type' })).status).toBe(400),
  ],
  [
    'smart/smart_backend_services_invalid_client_assertion, g10/bulk_data_authorization Test03',
    `${alg}: another client_assertion_type is refused`,
    async (site) => expect((await asked(site, alg, { client_assertion_type: 'not_an_assertion_type' })).status).toBe(400),
  ],
  [
    'g10/bulk_data_authorization Test04',
    `${alg}: an assertion of another issuer is refused`,
    async (site) => expect([400, 401]).toContain((await asked(site, alg, {}, { claims: { iss: 'not_a_valid_iss' } })).status),
  ],
  ...Object.entries(INVALID).flatMap(([name, changed], i): readonly KitRow[] => {
    const answer = (site: Site) => asked(site, alg, {}, changed(Math.floor(Date.now() / 1000)), THROTTLED_CLIENTS[i])
    return [
      [
        'smart/smart_backend_services_invalid_jwt, bulk/bulkdata_jwt_validation',
        `${alg}: an assertion with ${name} is refused`,
        async (site) => expect([400, 401]).toContain((await answer(site)).status),
      ],
      [
        'bulk/bulk_data_invalid_client_error',
        `${alg}: an assertion with ${name} is invalid_client`,
        async (site) => expect((await answer(site)).body.error).toBe('invalid_client'),
      ],
    ]
  }),
  [
    'bulk/bulkdata_jwt_validation',
    `${alg}: an assertion counts once`,
    async (site) => {
      const form = { grant_type: 'client_credentials', ...site.asserted(alg, 'backend') }
      expect([(await site.token(form)).status, (await site.token(form)).status]).toEqual([200, 401])
    },
  ],
])

const GIVEN = ALGORITHMS.flatMap((alg): readonly KitRow[] => {
  const body = 'smart/smart_backend_services_auth_response_body, g10/bulk_data_authorization Test06'
  return [
    [
      'smart/smart_backend_services_auth_request_success, g10/bulk_data_authorization Test05',
      `${alg}: a token is given`,
      async (site) => expect((await asked(site, alg)).status).toBe(200),
    ],
    ...['access_token', 'token_type', 'expires_in', 'scope'].map(
      (name): KitRow => [
        body,
        `${alg}: ${name} is there`,
        async (site) => expect([undefined, '', null]).not.toContain((await asked(site, alg)).body[name]),
      ],
    ),
    [body, `${alg}: token_type is Bearer`, async (site) => expect((await asked(site, alg)).body.token_type.toLowerCase()).toBe('bearer')],
    [
      'bulk/bulkdata_short_lived_access_token',
      `${alg}: the token lives five minutes at most`,
      async (site) => expect((await asked(site, alg)).body.expires_in).toBeLessThanOrEqual(300),
    ],
    [
      'bulk/bulkdata_scope_mediation',
      `${alg}: no scope is given that the client is not registered for`,
      async (site) => expect((await asked(site, alg, { scope: 'system/Patient.cruds' })).body.scope).toBe('system/Patient.rs'),
    ],
    [
      'bulk/bulkdata_access_token_scope_enforcement, g10/g10_visual_inspection_and_attestations Test08',
      `${alg}: the token opens what its scopes name, and nothing else`,
      async (site) => {
        const { access_token } = (await asked(site, alg, { scope: 'system/Patient.read' })).body
        const statuses = await Promise.all(
          ['Patient/1', 'Patient', 'Observation/pulse', 'Observation'].map((path) => site.get(path, access_token)),
        )
        expect(statuses.map(({ status }) => status)).toEqual([200, 200, 403, 403])
      },
    ],
  ]
})

export const BACKEND: readonly KitRow[] = [...REFUSED, ...GIVEN]
