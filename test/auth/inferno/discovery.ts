/** What must stand in the documents a client finds the server by. */
import { expect } from '@jest/globals'
import type { Tree } from '../../fixtures/resources.ts'
import type { TestResponse } from '../authorization.ts'
import { type KitRow, ORIGIN, type Site } from './kit.ts'

const smart = ({ get }: Site): Promise<TestResponse> =>
  get('.well-known/smart-configuration', undefined, { accept: 'application/json', origin: ORIGIN })
const metadata = ({ get }: Site): Promise<TestResponse> => get('metadata', undefined, { origin: ORIGIN })
const configuration = async (site: Site): Promise<Tree> => (await smart(site)).body

const isText = (value: unknown): void => expect([typeof value, value === '']).toEqual(['string', false])
const isList = (value: Tree): void => expect([Array.isArray(value), value?.length > 0]).toEqual([true, true])
const isFilled = (value: unknown, kind: 'text' | 'list'): void => (kind === 'text' ? isText(value) : isList(value))

export const expectCorsAllowed = ({ headers }: Pick<TestResponse, 'headers'>): void =>
  expect(['*', ORIGIN]).toContain(headers['access-control-allow-origin'])

const field = (by: string, name: string, kind: 'text' | 'list'): KitRow => [
  by,
  `${name} is there, and a ${kind}`,
  async (site) => isFilled((await configuration(site))[name], kind),
]

const STU1 = 'smart/well_known_capabilities_stu1'
const STU2 = 'smart/well_known_capabilities_stu2'

const ENDPOINT: readonly KitRow[] = [
  ['smart/well_known_endpoint', 'smart-configuration is answered by 200', async (site) => expect((await smart(site)).status).toBe(200)],
  ['smart/well_known_endpoint', 'smart-configuration is JSON', async (site) => void JSON.parse((await smart(site)).text)],
  [
    'smart/well_known_endpoint',
    'smart-configuration has a Content-Type of application/json',
    async (site) => expect((await smart(site)).headers['content-type']).toMatch(/^application\/json/),
  ],
]

const FIELDS: readonly KitRow[] = [
  ...(['authorization_endpoint', 'token_endpoint'] as const).flatMap((name) => [field(STU1, name, 'text'), field(STU2, name, 'text')]),
  ...[field(STU1, 'capabilities', 'list'), field(STU2, 'capabilities', 'list')],
  ...[field(STU2, 'grant_types_supported', 'list'), field(STU2, 'code_challenge_methods_supported', 'list')],
  ...[STU1, STU2].map(
    (by): KitRow => [by, 'capabilities are texts, all of them', async (site) => (await configuration(site)).capabilities.forEach(isText)],
  ),
  [
    STU2,
    'grants have authorization_code',
    async (site) => expect((await configuration(site)).grant_types_supported).toContain('authorization_code'),
  ],
  [STU2, 'challenges have S256', async (site) => expect((await configuration(site)).code_challenge_methods_supported).toContain('S256')],
  [
    STU2,
    'challenges do not have plain',
    async (site) => expect((await configuration(site)).code_challenge_methods_supported).not.toContain('plain'),
  ],
  ...['issuer', 'jwks_uri'].map(
    (name): KitRow => [
      STU2,
      `${name} is there, as sso-openid-connect is`,
      async (site) => {
        const { capabilities, [name]: value } = await configuration(site)
        expect(capabilities).toContain('sso-openid-connect')
        isText(value)
      },
    ],
  ),
  field('us-core/us_core_smart_well_known_capabilities', 'scopes_supported', 'list'),
  [
    'us-core/us_core_smart_well_known_capabilities',
    'scopes_supported has scopes of resources',
    async (site) => {
      const { scopes_supported: scopes } = await configuration(site)
      expect(scopes.filter((scope: string) => /^(?:patient|user|system)\/(?:[A-Za-z]+|\*)\.[cruds]+$/.test(scope)).length).toBeGreaterThan(
        0,
      )
    },
  ],
  field('us-core/us_core_smart_well_known_capabilities', 'introspection_endpoint', 'text'),
  field('bulk/bulk_data_smart_discovery_v101_contents', 'token_endpoint', 'text'),
  [
    'bulk/bulk_data_smart_discovery_v101_contents',
    'token_endpoint is an HTTP URL',
    async (site) => expect(new URL((await configuration(site)).token_endpoint).protocol).toMatch(/^https?:$/),
  ],
  ...['token_endpoint_auth_methods_supported', 'token_endpoint_auth_signing_alg_values_supported', 'scopes_supported'].map((name) =>
    field('bulk/bulk_data_smart_discovery_v101_contents', name, 'list'),
  ),
  [
    'bulk/bulk_data_smart_discovery_v101_contents',
    'clients may prove who they are by private_key_jwt',
    async (site) => expect((await configuration(site)).token_endpoint_auth_methods_supported).toContain('private_key_jwt'),
  ],
  [
    'bulk/bulk_data_smart_discovery_v101_contents',
    'clients may sign by RS384 or ES384',
    async (site) =>
      expect((await configuration(site)).token_endpoint_auth_signing_alg_values_supported).toEqual(
        expect.arrayContaining(['RS384', 'ES384']),
      ),
  ],
]

const COMMON = ['client-confidential-symmetric', 'sso-openid-connect', 'permission-offline']
const V2 = ['client-confidential-asymmetric', 'authorize-post', 'permission-v2', 'permission-v1']
const STANDALONE = ['launch-standalone', 'client-public', ...COMMON, 'context-standalone-patient', 'permission-patient']
const EHR = [
  ...['launch-ehr', ...COMMON, 'context-banner', 'context-style', 'context-ehr-patient', 'context-ehr-encounter', 'permission-user'],
]
/** By kit and scenario. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  'g10/g10_smart_standalone_patient_app SMART 1': STANDALONE,
  'g10/g10_smart_standalone_patient_app SMART 2 and 2.2': [...STANDALONE, ...V2],
  'g10/g10_smart_ehr_practitioner_app SMART 1': EHR,
  'g10/g10_smart_ehr_practitioner_app SMART 2 and 2.2': [...EHR, ...V2],
  'g10/g10_smart_v1_scopes': [...STANDALONE, ...V2],
  'ipa/ipa_smart_capabilities': [
    ...['launch-standalone', 'context-standalone-patient', 'permission-patient', 'permission-offline', 'sso-openid-connect'],
    ...['client-public', 'client-confidential-asymmetric'],
  ],
}

const CAPABILITIES = Object.entries(REQUIRED).flatMap(([by, names]) =>
  names.map(
    (name): KitRow => [by, `has the capability ${name}`, async (site) => expect((await configuration(site)).capabilities).toContain(name)],
  ),
)

/** Of the extension by which SMART v1 says it → of smart-configuration. */
const NAMES = {
  authorize: 'authorization_endpoint',
  token: 'token_endpoint',
  introspect: 'introspection_endpoint',
  manage: 'management_endpoint',
  register: 'registration_endpoint',
  revoke: 'revocation_endpoint',
} as const

async function statedIn(site: Site): Promise<ReadonlyMap<string, string>> {
  const securities: readonly Tree[] = (await metadata(site)).body.rest.map(({ security }: Tree) => security)
  const found = securities.find(({ service }) =>
    service.some(({ coding }: Tree) => coding.some(({ code }: Tree) => code === 'SMART-on-FHIR')),
  )
  const url = 'http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris'
  const { extension } = found!.extension.find((each: Tree) => each.url === url)
  return new Map(extension.map(({ url: name, valueUri }: Tree) => [name, valueUri]))
}

const STATEMENT: readonly KitRow[] = [
  ['smart/smart_discovery Test03', 'metadata is answered by 200', async (site) => expect((await metadata(site)).status).toBe(200)],
  [
    'smart/smart_discovery Test03',
    'metadata says SMART-on-FHIR, and by which URLs',
    async (site) => expect((await statedIn(site)).size).toBeGreaterThan(0),
  ],
  ...['authorize', 'token'].map(
    (name): KitRow => [
      'smart/smart_discovery Test03',
      `metadata has the URL ${name}`,
      async (site) => isText((await statedIn(site)).get(name)),
    ],
  ),
  ...Object.entries(NAMES).map(
    ([stated, known]): KitRow => [
      'smart/smart_discovery Test04',
      `metadata says of ${stated} what smart-configuration says of ${known}`,
      async (site) => expect((await statedIn(site)).get(stated)).toEqual((await configuration(site))[known]),
    ],
  ),
]

const ACROSS: readonly KitRow[] = [
  [
    'smart/smart_cors_well_known_endpoint',
    'smart-configuration is answered by 200 from elsewhere',
    async (site) => expect((await smart(site)).status).toBe(200),
  ],
  [
    'smart/smart_cors_well_known_endpoint',
    'smart-configuration may be read from elsewhere',
    async (site) => expectCorsAllowed(await smart(site)),
  ],
  [
    'smart/smart_cors_metadata_request',
    'metadata is answered by 200 from elsewhere',
    async (site) => expect((await metadata(site)).status).toBe(200),
  ],
  ['smart/smart_cors_metadata_request', 'metadata may be read from elsewhere', async (site) => expectCorsAllowed(await metadata(site))],
]

export const DISCOVERY: readonly KitRow[] = [...ENDPOINT, ...FIELDS, ...CAPABILITIES, ...STATEMENT, ...ACROSS]
