/** Launches that must not come to anything. */
import { expect } from '@jest/globals'
import { redirectOf } from '../browser.ts'
import { FLOWS, type Flow } from './flows.ts'
import {
  authorizationRequestOf,
  basicAuthorizationOf,
  type CodeLaunch,
  exchangeCode,
  type KitRow,
  obtainCode,
  openAuthorizePage,
  REDIRECT_URI,
  type Site,
} from './kit.ts'

const STANDALONE: Flow = FLOWS['standalone, a secret']
const EHR: Flow = FLOWS['EHR launch, by POST']

/** Whatever the user sees, the app gets no code and nothing to allow. */
const noCode = (by: string, what: string, flow: Flow, changed: Record<string, string>): KitRow => [
  by,
  `${what} comes to no code`,
  async (site) => {
    const { asked } = await authorizationRequestOf(site, flow, changed)
    const { headers, text } = await openAuthorizePage(site, flow, asked)
    expect([/[?&]code=/.test(headers.location ?? ''), text.includes('name="decision"')]).toEqual([false, false])
  },
]

/** The kits call it right where the app is told, and where the user is. */
const told = (by: string, what: string, flow: Flow, changed: Record<string, string>, error: string): KitRow => [
  by,
  `the app is told that ${what} is wrong`,
  async (site) => {
    const { asked } = await authorizationRequestOf(site, flow, changed)
    const { uri, sent } = redirectOf(await openAuthorizePage(site, flow, asked))
    expect([uri, sent.error, sent.state]).toEqual([REDIRECT_URI, error, asked.state])
  },
]

const AUD = 'g10/g10_smart_invalid_aud'
const LAUNCH = 'g10/g10_smart_invalid_launch_param'
const PLAIN = 'smart/well_known_capabilities_stu2'

const CODES: readonly KitRow[] = [
  ...(['standalone, a secret', 'standalone, a public client', 'EHR launch, by POST'] as const).map((name) =>
    noCode(AUD, `${name}: another aud`, FLOWS[name], { aud: 'https://inferno.healthit.gov/invalid_aud' }),
  ),
  told(AUD, 'aud', STANDALONE, { aud: 'https://inferno.healthit.gov/invalid_aud' }, 'invalid_request'),
  noCode(LAUNCH, 'another launch', EHR, { launch: 'INVALID_LAUNCH_PARAM' }),
  told(LAUNCH, 'launch', EHR, { launch: 'INVALID_LAUNCH_PARAM' }, 'invalid_request'),
  noCode(PLAIN, 'a challenge of the method plain', STANDALONE, { code_challenge_method: 'plain' }),
  noCode('smart/smart_app_redirect', 'another redirect_uri', STANDALONE, { redirect_uri: 'https://other.example/redirect' }),
]

/** Each with a code of its own: some servers take none again. */
type Wrong = (code: CodeLaunch, form: Record<string, string>) => Record<string, string>

const without = ({ code_verifier: _, ...form }: Record<string, string>): Record<string, string> => form
const VERIFIERS: Readonly<Record<string, Wrong>> = {
  'g10/smart_no_verifier_token_request: no verifier': (_, form) => without(form),
  'g10/smart_blank_verifier_token_request: an empty verifier': (_, form) => ({ ...form, code_verifier: '' }),
  'g10/smart_bad_code_verifier_token_request: another verifier': (_, form) => ({
    ...form,
    code_verifier: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6-f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
  }),
  'g10/smart_plain_code_verifier_token_request: the challenge as the verifier': ({ asked }, form) => ({
    ...form,
    code_verifier: asked.code_challenge!,
  }),
}

const PROOFS = ['standalone, a secret', 'standalone, a public client', 'standalone, ES384'] as const
const formOf = ({ back, verifier }: CodeLaunch): Record<string, string> => ({
  ...{ grant_type: 'authorization_code', code: back.sent.code!, redirect_uri: REDIRECT_URI, code_verifier: verifier },
})

const TOKENS: readonly KitRow[] = PROOFS.flatMap((name) => [
  ...Object.entries(VERIFIERS).map(([key, wrong]): KitRow => {
    const [by = '', what] = key.split(': ')
    const check = async (site: Site): Promise<void> => {
      const code = await obtainCode(site, FLOWS[name])
      expect([400, 401]).toContain((await site.proved(FLOWS[name].proof, wrong(code, formOf(code)))).status)
    }
    return [by, `${name}: ${what} is worth no token`, check]
  }),
  [
    'g10/g10_smart_invalid_token_request Test03',
    `${name}: what is no code is worth no token`,
    async (site) => {
      const form = { ...formOf(await obtainCode(site, FLOWS[name])), code: 'BAD_CODE' }
      expect((await site.proved(FLOWS[name].proof, form)).status).toBe(400)
    },
  ] as KitRow,
])

const CLIENTS: readonly KitRow[] = [
  [
    'g10/g10_smart_invalid_token_request Test04',
    'an unknown client with a secret gets no token for a code',
    async (site) => {
      const answer = await site.token(
        formOf(await obtainCode(site, STANDALONE)),
        basicAuthorizationOf('BAD_CLIENT_ID', site.secrets.symmetric),
      )
      expect([400, 401]).toContain(answer.status)
    },
  ],
  [
    'g10/g10_smart_invalid_token_request Test04',
    'an unknown client without a secret gets no token for a code',
    async (site) => {
      const form = { ...formOf(await obtainCode(site, FLOWS['standalone, a public client'])), client_id: 'BAD_CLIENT_ID' }
      expect([400, 401]).toContain((await site.token(form)).status)
    },
  ],
  [
    'g10/g10_smart_invalid_pkce_code_verifier_group',
    'the right verifier is worth a token',
    async (site) => expect((await exchangeCode(site, STANDALONE, await obtainCode(site, STANDALONE))).status).toBe(200),
  ],
]

export const REFUSALS: readonly KitRow[] = [...CODES, ...TOKENS, ...CLIENTS]
