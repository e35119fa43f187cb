/** What is told about a token to who guards resources. */
import { expect } from '@jest/globals'
import { decodeJwt } from 'jose'
import type { TestResponse } from '../authorization.ts'
import { basicAuthorizationOf, type CompletedLaunch, type KitRow, rowsOfEachLaunch, type Site } from './kit.ts'

export const introspect = (
  { ask, secrets }: Site,
  token: string,
  headers = basicAuthorizationOf('resources', secrets.resources),
): Promise<TestResponse> =>
  ask('POST', 'http://127.0.0.1/fhir/auth/introspect', { form: { token }, headers: { accept: 'application/json', ...headers } })

const ACTIVE = 'smart/token_introspection_response_group Test01'
const told = async (site: Site, { token }: CompletedLaunch) => (await introspect(site, token.body.access_token)).body
const wordsOf = (scopes: string): readonly string[] => scopes.split(' ').toSorted()

const same = (of: (site: Site) => CompletedLaunch, name: string, expected: (launched: CompletedLaunch) => unknown): KitRow => [
  ACTIVE,
  `${name} is what the app was told`,
  async (site) => {
    expect(expected(of(site))).toBeDefined()
    expect((await told(site, of(site)))[name]).toEqual(expected(of(site)))
  },
]

const claim = (name: string) => (launched: CompletedLaunch) => decodeJwt(launched.token.body.id_token)[name]

const OF_LAUNCHES = rowsOfEachLaunch((of, launch) => [
  [
    'smart/smart_token_introspection_request_group Test01',
    'the token is introspected with 200',
    async (site) => expect((await introspect(site, of(site).token.body.access_token)).status).toBe(200),
  ],
  [ACTIVE, 'it is active', async (site) => expect((await told(site, of(site))).active).toBe(true)],
  same(of, 'client_id', ({ flow }) => flow.client),
  [
    ACTIVE,
    'it has the scopes that were granted, and no other',
    async (site) => expect(wordsOf((await told(site, of(site))).scope)).toEqual(wordsOf(of(site).token.body.scope)),
  ],
  [ACTIVE, 'exp is to come', async (site) => expect((await told(site, of(site))).exp).toBeGreaterThan(Date.now() / 1000)],
  same(of, 'patient', ({ token }) => token.body.patient),
  ...(launch.startsWith('EHR') ? [same(of, 'encounter', ({ token }) => token.body.encounter)] : []),
  ...['iss', 'sub', 'fhirUser'].map((name) => same(of, name, claim(name))),
])

const invalid = (site: Site): Promise<TestResponse> => introspect(site, 'invalid_token_value')

export const INTROSPECTION: readonly KitRow[] = [
  ...OF_LAUNCHES,
  [
    'smart/smart_token_introspection_request_group Test02',
    'what is no token is introspected with 200',
    async (site) => expect((await invalid(site)).status).toBe(200),
  ],
  [
    'smart/token_introspection_response_group Test02',
    'what is no token is not active',
    async (site) => expect((await invalid(site)).body.active).toBe(false),
  ],
  [
    'smart/token_introspection_response_group Test02',
    'of what is no token nothing else is told',
    async (site) => expect(Object.keys((await invalid(site)).body)).toEqual(['active']),
  ],
  [
    'smart/smart_token_introspection',
    'nobody is told who does not say who he is',
    async (site) =>
      expect((await introspect(site, site.launched.get('standalone, a secret')!.token.body.access_token, {} as never)).status).toBe(400),
  ],
]
