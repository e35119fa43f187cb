/** What a user leaves of a whole type: what is offered, what is remembered, and that nobody gets what was not offered. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { categoryScopesOf } from '../../../lambdas/auth/grants/category-scopes.ts'
import { describeScope } from '../../../lambdas/auth/pages/scope-descriptions.ts'
import { BASE_URL, CLIENT_SECRET, claimsOf, createAuthorization, type TestAuthorization, type TestResponse } from '../authorization.ts'
import { type Browser, logIn, openBrowser, redirectOf } from '../browser.ts'

const BACK = 'https://app.example/back'
const WHOLE = 'user/Observation.rs'
const ASKED = { response_type: 'code', client_id: 'app', redirect_uri: BACK, aud: BASE_URL, scope: `${WHOLE} user/Patient.rs` }
const [VITAL, LABORATORY] = categoryScopesOf(WHOLE).map(({ scope }) => scope) as [string, string]

let auth: TestAuthorization
let user: Browser

beforeAll(async () => {
  auth = await createAuthorization()
  await auth.addClient('app', { redirectUris: [BACK], scopes: ['user/*.rs'] })
  await auth.addUser('ann')
  user = openBrowser(auth)
  await logIn(user, await user.open('/auth/account'), 'ann')
})

const page = (scope = ASKED.scope): Promise<TestResponse> => user.open('/auth/authorize', { ...ASKED, scope, prompt: 'consent' })

/** `left`: what is ticked in the end. */
async function decide(left: readonly string[], scope = ASKED.scope): Promise<string> {
  const kept = left.map((each) => ['keep', each] as const)
  const answer = await user.submit(await page(scope), [['decision', 'allow'], ...kept], 0, [...scope.split(' '), VITAL, LABORATORY])
  const form = { grant_type: 'authorization_code', client_id: 'app', client_secret: CLIENT_SECRET, redirect_uri: BACK }
  const { sent } = redirectOf(answer)
  if (sent.code === undefined) return sent.error!
  return claimsOf((await auth.ask('POST', '/auth/token', { form: { ...form, code: sent.code } })).body.access_token).scope
}

describe('a scope for a whole type', () => {
  it('offers its categories, unless they are requested or it has a condition', async () => {
    expect((await page()).text).toContain(`value="${VITAL}"`)
    expect((await page(`${WHOLE} ${VITAL}`)).text.split(`value="${VITAL}"`)).toHaveLength(2)
    expect([categoryScopesOf('user/Observation.rs?status=final'), categoryScopesOf('user/Patient.rs'), categoryScopesOf('openid')]).toEqual(
      [[], [], []],
    )
    expect(categoryScopesOf('patient/Condition.read')[1]!.scope).toMatch(/^patient\/Condition\.rs\?category=.*\|problem-list-item$/)
  })

  it('grants categories instead of the whole type, and none beside it', async () => {
    expect(await decide([VITAL, LABORATORY, 'user/Patient.rs'])).toBe(`${VITAL} ${LABORATORY} user/Patient.rs`)
    expect(await decide([WHOLE, VITAL])).toBe(WHOLE)
  })

  it('names each category, and shows other conditions verbatim', async () => {
    expect(describeScope(VITAL)).toBe('Read and search measurements and test results that you can see: Vital signs')
    expect(describeScope('user/Observation.r?status=final')).toBe('Read measurements and test results that you can see, where status=final')
    expect((await page(VITAL)).text).toContain(describeScope(VITAL))
  })

  it('grants nothing that was not offered', async () => {
    expect(await decide(['user/Observation.cruds', 'user/Condition.rs', categoryScopesOf('user/Condition.rs')[0]!.scope])).toBe(
      'access_denied',
    )
  })

  it('preselects the previous choice, which a new decision replaces', async () => {
    await decide([VITAL])
    expect((await page()).text).toContain(`value="${VITAL}" checked`)
    const { sent } = redirectOf(await user.open('/auth/authorize', ASKED))
    expect(sent.code).toBeDefined()
    await decide(['user/Patient.rs'])
    expect((await page()).text).not.toContain(`value="${VITAL}" checked`)
  })
})
