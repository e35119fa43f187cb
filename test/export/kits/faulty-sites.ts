/** Two wrong servers: one refuses everything, one accepts everything and exports nothing. A row both satisfy would prove nothing. */
import { SERVER_URL, type Site, siteOf, type TestResponse } from './site.ts'

const answerOf = (status: number, body: object | undefined, headers: Record<string, string> = {}): TestResponse => ({
  status,
  headers: new Headers({ 'content-type': 'application/json', ...headers }),
  text: body === undefined ? '' : JSON.stringify(body),
  body,
})

const REFUSAL = { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code: 'processing' }] }
const NOTHING = {
  ...{ transactionTime: '2020-01-01T00:00:00.000Z', request: '', requiresAccessToken: false, output: [], deleted: [], error: [] },
  ...{ rest: [{ operation: [], resource: [], security: { extension: [] } }] },
}

const refusing: Site['send'] = async () => answerOf(400, REFUSAL)

const taking: Site['send'] = async (method, url) =>
  url.includes('$export') || method === 'DELETE'
    ? answerOf(202, undefined, { 'content-location': `${SERVER_URL}/export/any` })
    : answerOf(200, NOTHING)

/** Creates a new server for each row. */
export const FAULTY_SITES: readonly (() => Site)[] = [refusing, taking].map((send) => () => siteOf(send, async () => 'token', 'token'))
