/** Every kind of answer is valid R4, as HAPI's validator judges it. https://hl7.org/fhir/R4/validation.html */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { withServer } from '../api/server.ts'
import { missingJavaReason } from '../engines/java.ts'
import { KINDS } from './answers.ts'
import { fillServer } from './answers-stored.ts'
import { runHapi, type Verdict } from './hapi.ts'
import { RESPONSE_DIFFERENCES } from './response-differences.ts'

const client = withServer()
const reason = missingJavaReason()
if (reason !== undefined) process.stderr.write(`HAPI's validator does not judge answers: ${reason}\n`)

type Judged = { readonly kind: string; readonly title: string; readonly text: string; readonly verdict: Verdict }
let rows: readonly Judged[] = []

beforeAll(async () => {
  await fillServer(client)
  const answers: Omit<Judged, 'verdict'>[] = []
  for (const { kind, requests } of KINDS)
    for (const { method, path, status = 200, body, headers } of requests) {
      const answer = await client.send(method, path, body, headers)
      const title = `${method} ${path}`
      expect([title, answer.status, answer.status === status ? '' : answer.text]).toEqual([title, status, ''])
      answers.push({ kind, title, text: answer.text })
    }
  if (reason !== undefined) return
  const verdicts = await runHapi(
    answers.map(({ text }) => ({ text, isTold: true })),
    { folder: '.', names: [] },
  )
  rows = answers.map((answer, i) => ({ ...answer, verdict: verdicts[i]! }))
}, 600_000)

const differenceOf = (title: string, found: string) => RESPONSE_DIFFERENCES.find((row) => row.title.test(title) && row.verdict.test(found))

const judging = reason === undefined ? it : it.skip

describe('HAPI finds no error', () => {
  judging.each(KINDS.map(({ kind, requests }) => [kind, requests.length] as const))('in responses of %s', (kind, count) => {
    const own = rows.filter((row) => row.kind === kind)
    const wrong = own.flatMap(({ title, verdict }) =>
      verdict.filter((each) => differenceOf(title, each) === undefined).map((each) => `${title}: ${each}`),
    )
    expect(wrong).toEqual([])
    expect(own).toHaveLength(count)
  })

  judging('in at least 150 responses', () => {
    expect(rows.length).toBeGreaterThanOrEqual(150)
  })

  judging('except for the listed differences, each of which it finds', () => {
    const needed = new Set(rows.flatMap(({ title, verdict }) => verdict.map((each) => differenceOf(title, each))))
    expect(RESPONSE_DIFFERENCES.filter((row) => !needed.has(row))).toEqual([])
  })
})
