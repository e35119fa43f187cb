/** What the commands share that say who may use a server. */
import { Option } from 'commander'
import { type Administration, openAdministration } from '../../lambdas/runtime/administration.ts'
import { dataOption } from './options.ts'

export type PlaceOptions = { readonly data: string }

export const placeOption = (): Option => dataOption('data folder of the server, which may be running')

export const jsonOption = (what: string): Option => new Option('--json', `print ${what} as JSON`)

/** A value of an option that may be there several times. */
export const collected = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

/** `isNew`: the data folder may be missing. */
export async function administered<T>({ data }: PlaceOptions, work: (ports: Administration) => Promise<T>, isNew = false): Promise<T> {
  const ports = await openAdministration(data, { isNew })
  try {
    return await work(ports)
  } finally {
    await ports.close()
  }
}

/** Columns as wide as what is in them. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return rows.map((row) => `${line(row)}\n`).join('')
}
