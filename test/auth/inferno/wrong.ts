/** Servers that are wrong throughout: one gives nothing to anybody, and one gives everything. A row that holds of both would hold of any. */
import type { TestResponse } from '../authorization.ts'
import { type AuthorizationServer, openBrowser } from '../browser.ts'
import { FLOWS, type Flow, type FlowName } from './flows.ts'
import { type CompletedLaunch, REDIRECT_URI, SERVER_URL, type Site } from './kit.ts'

const NOTHING: TestResponse = { status: 500, headers: {}, text: '', body: {} }

const gift = {
  ...{ access_token: 'a', refresh_token: 'r', id_token: 'i', token_type: 'Bearer', expires_in: 86_400, refresh_expires_in: 1 },
  ...{ scope: 'patient/*.cruds system/*.cruds', patient: '2', fhirContext: 'any', active: true, client_id: 'any', keys: [] },
  ...{ resourceType: 'Patient', id: '2', entry: [{ resource: { resourceType: 'Patient', id: '2' } }] },
}
const EVERYTHING: TestResponse = {
  status: 200,
  headers: { location: `${REDIRECT_URI}?code=c&state=s` },
  text: '<form method="post" action="/">',
  body: gift,
}

/** `page`: what a browser is shown. */
function wrong(answer: TestResponse, page: TestResponse, sent: Readonly<Record<string, string>>): Site {
  const ask = async (): Promise<TestResponse> => answer
  const pages: AuthorizationServer = { ask: async () => page }
  const of = (flow: Flow): CompletedLaunch => {
    const asked = { scope: 'openid', state: 'other', code_challenge: 'c' }
    return {
      flow,
      asked,
      verifier: 'v',
      back: { uri: sent.code === undefined ? '' : REDIRECT_URI, sent },
      token: answer,
      refreshed: answer,
      again: answer,
    }
  }
  const launched = new Map((Object.keys(FLOWS) as FlowName[]).map((name) => [name, of(FLOWS[name])]))
  return {
    ...{ ask, pages, get: ask, token: ask, proved: ask, launched },
    asserted: () => ({}),
    secrets: { symmetric: '', resources: '', loader: '' },
    newLaunch: async () => 'l',
    userOf: async () => openBrowser(pages, SERVER_URL),
  }
}

/** A site for each row: some remember what they did with theirs. */
export const FAULTY_SITES: readonly (() => Site)[] = [
  () => wrong(NOTHING, NOTHING, { error: 'server_error' }),
  () => wrong(EVERYTHING, { ...EVERYTHING, status: 303 }, { code: 'c' }),
]
