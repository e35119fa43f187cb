/** Servers that are wrong throughout: one gives nothing to anybody, and one gives everything. A row that holds of both would hold of any. */
import type { Answer } from '../authorization.ts'
import { type Asked, browser } from '../browser.ts'
import { FLOWS, type Flow, type FlowName } from './flows.ts'
import { BACK, type Launched, type Site, URL_OF_SERVER } from './kit.ts'

const NOTHING: Answer = { status: 500, headers: {}, text: '', body: {} }

const gift = {
  ...{ access_token: 'a', refresh_token: 'r', id_token: 'i', token_type: 'Bearer', expires_in: 86_400, refresh_expires_in: 1 },
  ...{ scope: 'patient/*.cruds system/*.cruds', patient: '2', fhirContext: 'any', active: true, client_id: 'any', keys: [] },
  ...{ resourceType: 'Patient', id: '2', entry: [{ resource: { resourceType: 'Patient', id: '2' } }] },
}
const EVERYTHING: Answer = {
  status: 200,
  headers: { location: `${BACK}?code=c&state=s` },
  text: '<form method="post" action="/">',
  body: gift,
}

/** `page`: what a browser is shown. */
function wrong(answer: Answer, page: Answer, sent: Readonly<Record<string, string>>): Site {
  const ask = async (): Promise<Answer> => answer
  const pages: Asked = { ask: async () => page }
  const of = (flow: Flow): Launched => {
    const asked = { scope: 'openid', state: 'other', code_challenge: 'c' }
    return {
      flow,
      asked,
      verifier: 'v',
      back: { uri: sent.code === undefined ? '' : BACK, sent },
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
    userOf: async () => browser(pages, URL_OF_SERVER),
  }
}

/** A site for each row: some remember what they did with theirs. */
export const WRONG: readonly (() => Site)[] = [
  () => wrong(NOTHING, NOTHING, { error: 'server_error' }),
  () => wrong(EVERYTHING, { ...EVERYTHING, status: 303 }, { code: 'c' }),
]
