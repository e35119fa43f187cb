/**
 * The thread that writes the file of grants. SQLite blocks its thread while the disk flushes, and while another process writes, so nobody else
 * waits here. Whatever has arrived is committed in one go.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { Damaged } from '../../ports/faults/damaged.ts'
import { DiskFull } from '../../ports/faults/disk-full.ts'
import { Overloaded } from '../../ports/faults/overloaded.ts'
import { type Change, Changes } from './grant-changes.ts'
import { openGrantsFile, reasonOf } from './grants-file.ts'

export type Asked = { readonly number: number; readonly change: Change } | 'close'

/** A class does not cross to another thread. */
export type Fault = 'busy' | 'full' | 'damaged' | 'other'

/** `done`: of each number. */
export type Answered =
  | { readonly done: ReadonlyMap<number, boolean> }
  | { readonly failed: readonly number[]; readonly fault: Fault; readonly text: string }

/** So many share a flush: what fails, fails together. */
const MOST_AT_ONCE = 500

const port = parentPort!
const db = openGrantsFile(workerData as string)
const changes = new Changes(db)

port.on('message', (first: Asked) => {
  let next: Asked | undefined = first
  while (next !== undefined && next !== 'close') {
    const batch: Exclude<Asked, 'close'>[] = []
    for (; next !== undefined && next !== 'close' && batch.length < MOST_AT_ONCE; next = received()) batch.push(next)
    port.postMessage(answer(batch))
  }
  if (next === 'close') close()
})

const received = (): Asked | undefined => (receiveMessageOnPort(port) as { readonly message: Asked } | undefined)?.message

function answer(batch: readonly Exclude<Asked, 'close'>[]): Answered {
  try {
    const done = changes.commit(batch.map(({ change }) => change))
    return { done: new Map(batch.map(({ number }, i) => [number, done[i]!])) }
  } catch (error) {
    const reason = reasonOf(error, workerData as string)
    return { failed: batch.map(({ number }) => number), fault: faultOf(reason), text: (reason as Error).message }
  }
}

function faultOf(reason: unknown): Fault {
  if (reason instanceof Overloaded) return 'busy'
  if (reason instanceof DiskFull) return 'full'
  return reason instanceof Damaged ? 'damaged' : 'other'
}

function close(): void {
  db.close()
  port.close()
}
