/** What must hold of each launch: the way to the code, the tokens, and the context that comes with them. */
import { expect } from '@jest/globals'
import type { TestResponse } from '../authorization.ts'
import { expectCorsAllowed } from './discovery.ts'
import { type CompletedLaunch, type KitRow, REDIRECT_URI, rowsOfEachLaunch, type Site } from './kit.ts'

const isThere = (value: unknown): void => expect([undefined, null, '']).not.toContain(value)
const scopesOf = (text: string): readonly string[] => text.split(' ')

type Of = (site: Site) => TestResponse

/** Of every answer with tokens. */
const headersOf = (of: Of): readonly KitRow[] => [
  [
    'smart/smart_token_response_headers',
    'no cache stores the tokens',
    (site) => expect(of(site).headers['cache-control']).toContain('no-store'),
  ],
  ['smart/smart_token_response_headers', 'old caches neither', (site) => expect(of(site).headers.pragma).toContain('no-cache')],
]

const bodyOf = (by: string, of: Of): readonly KitRow[] => [
  ...['access_token', 'token_type', 'expires_in', 'scope'].map(
    (name): KitRow => [by, `${name} is there`, (site) => isThere(of(site).body[name])],
  ),
  ...['access_token', 'token_type', 'scope', 'refresh_token'].map(
    (name): KitRow => [by, `${name} is a text`, (site) => expect(typeof of(site).body[name]).toBe('string')],
  ),
  [by, 'expires_in is a number', (site) => expect(typeof of(site).body.expires_in).toBe('number')],
  [by, 'token_type is Bearer', (site) => expect(of(site).body.token_type.toLowerCase()).toBe('bearer')],
]

const CODES = rowsOfEachLaunch((of) => [
  [
    'smart/smart_app_redirect',
    'the authorization endpoint is an HTTP URL',
    async (site) =>
      expect(new URL((await site.get('.well-known/smart-configuration')).body.authorization_endpoint).protocol).toMatch(/^https?:$/),
  ],
  ['smart/smart_app_redirect', 'the browser comes back to the app', (site) => expect(of(site).back.uri).toBe(REDIRECT_URI)],
  ['smart/smart_app_redirect', 'the state comes back as it was', (site) => expect(of(site).back.sent.state).toBe(of(site).asked.state)],
  ['smart/smart_code_received', 'the app gets a code', (site) => isThere(of(site).back.sent.code)],
  ['smart/smart_code_received', 'the app gets no error', (site) => expect(of(site).back.sent.error).toBeUndefined()],
])

const TOKENS = rowsOfEachLaunch((of) => {
  const token: Of = (site) => of(site).token
  const by = 'smart/smart_token_response_body'
  return [
    ['smart/smart_token_exchange', 'the code is exchanged with 200', (site) => expect(token(site).status).toBe(200)],
    ['smart/smart_token_exchange', 'the answer is JSON', (site) => void JSON.parse(token(site).text)],
    ...bodyOf(by, token),
    [
      by,
      'all scopes that were asked for are granted, as they were asked for',
      (site) => expect(scopesOf(token(site).body.scope)).toEqual(expect.arrayContaining([...scopesOf(of(site).asked.scope!)])),
    ],
    [`${by}_stu2_2`, 'fhirContext is a list of references, or not there', (site) => isContext(token(site).body.fhirContext)],
    ...headersOf(token),
    ['smart/smart_cors_token_exchange', 'the answer may be read from elsewhere', (site) => expectCorsAllowed(token(site))],
  ]
})

function isContext(context: unknown): void {
  const of = { reference: expect.stringMatching(/^[A-Za-z]+\/[A-Za-z0-9.-]{1,64}$/) }
  for (const each of (context ?? []) as readonly object[]) expect(each).toMatchObject(of)
  expect([undefined, true]).toContain(context === undefined ? undefined : Array.isArray(context))
}

const refreshing = (of: (site: Site) => CompletedLaunch, how: 'refreshed' | 'again'): readonly KitRow[] => {
  const answer: Of = (site) => of(site)[how]
  const named = how === 'refreshed' ? 'without scopes' : 'with scopes'
  return [
    ['smart/smart_token_refresh', 'is answered by 200', (site: Site) => expect(answer(site).status).toBe(200)],
    ['smart/smart_token_refresh', 'is answered in JSON', (site: Site) => void JSON.parse(answer(site).text)],
    ...bodyOf('smart/smart_token_refresh_body', answer),
    [
      'smart/smart_token_refresh_body',
      'gives no scope that the token before did not have',
      (site: Site) => expect(scopesOf(of(site).token.body.scope)).toEqual(expect.arrayContaining([...scopesOf(answer(site).body.scope)])),
    ],
    ...headersOf(answer),
    ['smart/cors_support_stu2_2', 'may be read from elsewhere', (site: Site) => expectCorsAllowed(answer(site))],
  ].map(([by, holds, check]) => [by, `a refresh ${named}: ${holds}`, check] as KitRow)
}

const REFRESHES = rowsOfEachLaunch((of) => [
  ...refreshing(of, 'refreshed'),
  ...refreshing(of, 'again'),
  [
    'g10/g10_invalid_token_refresh',
    'a refresh with what is no refresh token is refused',
    async (site) => {
      const form = { grant_type: 'refresh_token', refresh_token: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6' }
      expect([400, 401]).toContain((await site.proved(of(site).flow.proof, form)).status)
    },
  ],
])

const CONTEXT = rowsOfEachLaunch((of, name) => {
  const read = (token: (site: Site) => TestResponse, what: string): KitRow => [
    'g10/g10_patient_context',
    `the patient is named, and read with ${what}`,
    async (site) => {
      const { patient, access_token } = token(site).body
      const { status, body } = await site.get(`Patient/${patient}`, access_token)
      expect([typeof patient, status, body.resourceType, body.id]).toEqual(['string', 200, 'Patient', patient])
    },
  ]
  const isLaunched = name.startsWith('EHR')
  return [
    read((site) => of(site).token, 'the token'),
    read((site) => of(site).again, 'the token of a refresh'),
    [
      'g10/g10_unauthorized_access',
      'the patient is not read without a token',
      async (site) => expect((await site.get(`Patient/${of(site).token.body.patient}`)).status).toBe(401),
    ],
    ...(isLaunched ? SHOWN(of) : []),
  ]
})

function SHOWN(of: (site: Site) => CompletedLaunch): readonly KitRow[] {
  const style = (site: Site) => site.get(of(site).token.body.smart_style_url)
  return [
    [
      'g10/g10_encounter_context',
      'the encounter is named, and read with the token',
      async (site) => {
        const { encounter, access_token } = of(site).token.body
        const { status, body } = await site.get(`Encounter/${encounter}`, access_token)
        expect([typeof encounter, status, body.resourceType]).toEqual(['string', 200, 'Encounter'])
      },
    ],
    ['g10/g10_smart_style_url', 'smart_style_url is there', (site) => isThere(of(site).token.body.smart_style_url)],
    ['g10/g10_smart_style_url', 'smart_style_url is answered by 200', async (site) => expect((await style(site)).status).toBe(200)],
    ['g10/g10_smart_style_url', 'smart_style_url leads to JSON', async (site) => void JSON.parse((await style(site)).text)],
    [
      'g10/g10_smart_need_patient_banner',
      'need_patient_banner is true or false',
      (site) => expect(typeof of(site).token.body.need_patient_banner).toBe('boolean'),
    ],
  ]
}

export const LAUNCHES: readonly KitRow[] = [...CODES, ...TOKENS, ...REFRESHES, ...CONTEXT]
