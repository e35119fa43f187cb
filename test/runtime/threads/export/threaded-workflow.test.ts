/** The export thread: it starts with the first export, and again after a crash. */
import { describe, expect, it } from '@jest/globals'
import { resumeJobs } from '../../../../lambdas/export/job/job-sweep.ts'
import { changeJob, setAttemptStart } from '../../../../lambdas/export/job/job-transitions.ts'
import { logTextOf } from '../../../../lambdas/runtime/error-log.ts'
import { ThreadedWorkflow } from '../../../../lambdas/runtime/threads/export/threaded-workflow.ts'
import { kickOff, readJob } from '../../../export/export-run.ts'
import { jobOf, noMatches, noMatchLimits } from '../../../fixtures/exporting.ts'
import { MemoryBlobs } from '../../../fixtures/memory/blobs.ts'
import { MemoryRows } from '../../../fixtures/memory/kept-rows.ts'

/** Returns the program of a thread that answers calls by these methods. They call the serving thread with `ask`. */
const programOf = (methods: string): URL =>
  new URL(
    `data:text/javascript,${encodeURIComponent(`
      import { parentPort } from 'node:worker_threads'
      const methods = { close: () => parentPort.close(), ${methods} }
      parentPort.on('message', async ({ kind, number, method, of, result }) => {
        if (kind !== 'call') return asked(result)
        parentPort.postMessage({ kind: 'result', number, result: await methods[method](...of) })
      })
      let asked
      const ask = (method, ...of) => new Promise((resolve) => {
        asked = resolve
        parentPort.postMessage({ kind: 'call', number: 1, method, of })
      })`)}`,
  )

function exporterOf(program: URL, heap = 100) {
  const died: string[][] = []
  const reports: unknown[] = []
  let tellEnded = (): void => undefined
  const ended = new Promise<void>((resolve) => (tellEnded = resolve))
  const exporter = new ThreadedWorkflow({
    ...{ thread: program, store: 'store.db', rows: 'exports.db', folder: 'exports', groupTypes: [], additionalResources: {} },
    partners: { payer: [], sensitiveLabels: 'unknown', payerWindowYears: 5, providerSince: '2016-01-01' },
    disclosing: { folder: 'disclosures', payer: { name: 'Payer' } },
    requests: new Int32Array(new SharedArrayBuffer(4)),
    answers: {
      now: () => 0,
      settled: async (tenant, instant) => tenant === 't' && instant === 1,
      find: () => Promise.reject(new Error('not asked')),
      distinct: () => Promise.reject(new Error('not asked')),
      readingOf: () => Promise.reject(new Error('not asked')),
      storeMatch: noMatches,
      isPartner: async () => true,
      ...noMatchLimits,
    },
    report: (error) => reports.push(error),
    onDied: (jobs) => died.push([...jobs]),
    onEnded: tellEnded,
    heap,
  })
  return { exporter, reports, ended, died }
}

describe('The export thread', () => {
  it('does not run before the first export, and needs no stop or close until then', async () => {
    const { exporter, reports } = exporterOf(new URL('data:text/javascript,throw new Error()'))
    expect(await exporter.isRunning('a-1')).toBe(false)
    await exporter.stop('a-1')
    await exporter.close()
    await expect(exporter.start('a-1', {})).rejects.toThrow('closed')
    expect(reports).toEqual([])
  })

  it('receives calls, and sends questions to the serving thread', async () => {
    const methods = "start: () => ask('settled', 't', 1).then((is) => { settled = is }), isRunning: () => settled"
    const { exporter } = exporterOf(new URL(`${programOf(methods)}${encodeURIComponent('\nlet settled = false')}`))
    await exporter.start('a-1', { job: 'a' })
    expect(await exporter.isRunning('a-1')).toBe(true)
    await exporter.close()
  })

  it('rejects pending calls if it crashes, and restarts with the next export', async () => {
    const { exporter, ended } = exporterOf(programOf("start: (name) => { if (name === 'a-1') process.exit(1) }, isRunning: () => true"))
    await expect(exporter.start('a-1', {})).rejects.toThrow('the thread of exports has ended')
    await ended
    expect(await exporter.isRunning('a-1')).toBe(false)
    await exporter.start('a-2', {})
    expect(await exporter.isRunning('a-2')).toBe(true)
    await exporter.close()
  })

  it('reports the jobs that it was running if it crashes', async () => {
    const told = (...of: readonly string[]) => of.map((each) => `parentPort.postMessage(${each});`).join('')
    const steps = told(...['a', 'b', 'a', 'c'].map((job) => `{ kind: 'begins', job: '${job}' }`), "{ kind: 'ends', job: 'c' }")
    const { exporter, died, ended } = exporterOf(
      programOf(`start: () => { ${steps} ${told("{ kind: 'ends', job: 'a' }")} process.exit(1) }`),
    )
    await expect(exporter.start('a-1', {})).rejects.toThrow('the thread of exports has ended')
    await ended
    expect(died.map((jobs) => jobs.toSorted())).toEqual([['a', 'b']])
    await exporter.close()
  })

  it('reports each time that it runs out of memory, and finally fails the job', async () => {
    const filling = `start: (name, { job }) => {
      parentPort.postMessage({ kind: 'begins', job })
      const all = []
      for (;;) all.push(Array.from({ length: 10_000 }, (_, i) => ({ i })))
    }`
    const { exporter, died, reports } = exporterOf(programOf(filling), 16)
    const stores = { rows: new MemoryRows(), blobs: new MemoryBlobs(), now: Date.now }
    await kickOff(stores, jobOf(1))
    for (let times = 1; times <= 10; times++) {
      await changeJob(stores.rows, 'j', setAttemptStart(times))
      const resumed = await resumeJobs(stores, exporter).catch((error: Error) => error)
      if (times < 10) expect(resumed).toMatchObject({ message: 'the thread of exports has ended' })
    }
    expect(await readJob(stores, 'j')).toMatchObject({ state: 'error', reason: expect.stringContaining('needs more memory') })
    expect(died).toEqual(Array.from({ length: 9 }, () => ['j']))
    expect(reports.map(logTextOf)).toEqual(Array.from({ length: 9 }, () => expect.stringContaining('ran out of its 16 MB')))
    await exporter.close()
  })

  it('is terminated if it does not close', async () => {
    const { exporter } = exporterOf(programOf('start: () => undefined, close: () => { for (;;); }'))
    await exporter.start('a-1', {})
    await exporter.close()
  })
})
