/** What a user leaves of a whole type: what is offered, what is remembered, and that nobody gets what was not offered. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { narrowerOf } from '../../../lambdas/auth/grants/category-scopes.ts'
import { wordsOf } from '../../../lambdas/auth/pages/scope-descriptions.ts'
import { type Answer, type Authorization, authorization, BASE, claimsOf, SECRET } from '../authorization.ts'
import { type Browser, backOf, browser, logIn } from '../browser.ts'

const BACK = 'https://app.example/back'
const WHOLE = 'user/Observation.rs'
const ASKED = { response_type: 'code', client_id: 'app', redirect_uri: BACK, aud: BASE, scope: `${WHOLE} user/Patient.rs` }
const [VITAL, LABORATORY] = narrowerOf(WHOLE).map(({ scope }) => scope) as [string, string]

let auth: Authorization
let user: Browser

beforeAll(async () => {
  auth = await authorization()
  await auth.addClient('app', { redirectUris: [BACK], scopes: ['user/*.rs'] })
  await auth.addUser('ann')
  user = browser(auth)
  await logIn(user, await user.open('/auth/account'), 'ann')
})

const page = (scope = ASKED.scope): Promise<Answer> => user.open('/auth/authorize', { ...ASKED, scope, prompt: 'consent' })

/** `left`: what is ticked in the end. */
async function decide(left: readonly string[], scope = ASKED.scope): Promise<string> {
  const kept = left.map((each) => ['keep', each] as const)
  const answer = await user.submit(await page(scope), [['decision', 'allow'], ...kept], 0, [...scope.split(' '), VITAL, LABORATORY])
  const form = { grant_type: 'authorization_code', client_id: 'app', client_secret: SECRET, redirect_uri: BACK }
  const { sent } = backOf(answer)
  if (sent.code === undefined) return sent.error!
  return claimsOf((await auth.ask('POST', '/auth/token', { form: { ...form, code: sent.code } })).body.access_token).scope
}

describe('a scope for a whole type', () => {
  it('offers its categories, unless they are requested or it has a condition', async () => {
    expect((await page()).text).toContain(`value="${VITAL}"`)
    expect((await page(`${WHOLE} ${VITAL}`)).text.split(`value="${VITAL}"`)).toHaveLength(2)
    expect([narrowerOf('user/Observation.rs?status=final'), narrowerOf('user/Patient.rs'), narrowerOf('openid')]).toEqual([[], [], []])
    expect(narrowerOf('patient/Condition.read')[1]!.scope).toMatch(/^patient\/Condition\.rs\?category=.*\|problem-list-item$/)
  })

  it('grants categories instead of the whole type, and none beside it', async () => {
    expect(await decide([VITAL, LABORATORY, 'user/Patient.rs'])).toBe(`${VITAL} ${LABORATORY} user/Patient.rs`)
    expect(await decide([WHOLE, VITAL])).toBe(WHOLE)
  })

  it('names each category, and shows other conditions verbatim', async () => {
    expect(wordsOf(VITAL)).toBe('Read and search measurements and test results that you can see: Vital signs')
    expect(wordsOf('user/Observation.r?status=final')).toBe('Read measurements and test results that you can see, where status=final')
    expect((await page(VITAL)).text).toContain(wordsOf(VITAL))
  })

  it('grants nothing that was not offered', async () => {
    expect(await decide(['user/Observation.cruds', 'user/Condition.rs', narrowerOf('user/Condition.rs')[0]!.scope])).toBe('access_denied')
  })

  it('preselects the previous choice, which a new decision replaces', async () => {
    await decide([VITAL])
    expect((await page()).text).toContain(`value="${VITAL}" checked`)
    const { sent } = backOf(await user.open('/auth/authorize', ASKED))
    expect(sent.code).toBeDefined()
    await decide(['user/Patient.rs'])
    expect((await page()).text).not.toContain(`value="${VITAL}" checked`)
  })
})
