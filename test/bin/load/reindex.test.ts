/** `fhir reindex` on a local server and on one that requires signed requests. */
import { describe, expect, it } from '@jest/globals'
import { sigv4Authorizer } from '../../../bin/client/sigv4-signing.ts'
import { type ReindexProgress, reindex } from '../../../bin/load/reindex.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import {
  AWS_CREDENTIALS,
  isSigned,
  type PreparedResponse,
  type ReceivedRequest,
  startRecordingServer,
} from '../../fixtures/recording-server.ts'
import { runFhir, startOpenServer } from '../process.ts'

const rebuildOf = (type: string, done: number, total?: number) => ({
  name: 'rebuild',
  part: [
    { name: 'type', valueCode: type },
    { name: 'done', valueInteger: done },
    ...(total === undefined ? [] : [{ name: 'total', valueInteger: total }]),
  ],
})
const statusWith = (...parameter: readonly object[]): PreparedResponse => ({
  status: 200,
  body: JSON.stringify({ resourceType: 'Parameters', parameter: [{ name: 'parameter', part: [] }, ...parameter] }),
})
const outcome = (text: string): string => JSON.stringify({ resourceType: 'OperationOutcome', issue: [{ details: { text } }] })

async function asked(answers: (got: ReceivedRequest, number: number) => PreparedResponse, types: readonly string[] = []) {
  const { all, base } = await startRecordingServer((got, number) => (isSigned(got) ? answers(got, number) : { status: 403 }))
  const progress: (readonly ReindexProgress[])[] = []
  const authorize = sigv4Authorizer(base, 'eu-west-1', async () => AWS_CREDENTIALS)
  const done = reindex({ base, types, authorize, onProgress: (rebuilds) => progress.push(rebuilds) })
  await done.catch(() => undefined)
  return { done, progress, requests: all.map(({ method, url }) => `${method} ${url}`) }
}

describe('fhir reindex', () => {
  it('starts and polls a rebuild with signed requests, also on a busy server', async () => {
    const answers = [
      { status: 202 },
      statusWith(rebuildOf('Patient', 0), rebuildOf('Basic', 0, 9)),
      { status: 503 },
      statusWith(rebuildOf('Basic', 5, 9)),
      statusWith(),
    ]
    const { done, progress, requests } = await asked((_, number) => answers[number - 1]!, ['Patient', 'Basic'])
    await done
    const status = 'GET /fhir/$reindex-status'
    expect(requests).toEqual(['POST /fhir/$reindex?type=Patient,Basic', status, status, status, status])
    expect(progress).toEqual([
      [
        { type: 'Patient', done: 0 },
        { type: 'Basic', done: 0, total: 9 },
      ],
      [{ type: 'Basic', done: 5, total: 9 }],
    ])
  })

  it.each<readonly [string, (number: number) => PreparedResponse, string]>([
    ['at once', () => ({ status: 400, body: outcome('X is not a resource type') }), '400 X is not a resource type'],
    ['later', (number) => (number === 1 ? { status: 202 } : { status: 403, body: outcome('Ended') }), '403 Ended'],
  ])('stops waiting if the server refuses: %s', async (_, answer, text) => {
    const { done } = await asked((_, number) => answer(number))
    await expect(done).rejects.toThrow(text)
  })

  it('rebuilds the documents of the server that runs on the folder', async () => {
    const data = newFolder()
    const server = await startOpenServer('--data', data, '--sample')
    const to = ['--data', data, '--to', server.base]
    expect(await runFhir('reindex', 'Patient', ...to)).toMatchObject({ code: 0, out: 'The documents of Patient are indexed again\n' })
    expect(await runFhir('reindex', ...to)).toMatchObject({ code: 0, out: 'The documents of all types are indexed again\n' })
    expect(await runFhir('reindex', 'Patent', ...to)).toMatchObject({
      code: 1,
      err: expect.stringContaining('400 Patent is not a resource type'),
    })
    await server.stop()
  })
})
