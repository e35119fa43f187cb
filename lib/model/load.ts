/** Load of a stage, and its mix of resources and writes. */
import { isResourceType } from '../../lambdas/fhir/resource-types.ts'
import { DEFAULT_SHARDS } from '../settings/index-shards.ts'

/**
 * `creates`: share of creates among the writes; the others are updates. `versions`: stored versions of a resource. `types`: shares of the
 * types among the resources and the writes. `identifiers`: mean number of identifiers of a resource, by type; a type without it has that of
 * the sample.
 */
export type Mix = {
  readonly creates: number
  readonly versions: number
  readonly types: Readonly<Record<string, number>>
  readonly identifiers: Readonly<Record<string, number>>
}

/** `resources`: number of stored resources. `writes`, `reads`, `searches`: requests per second, one resource in each write. */
export type Load = {
  readonly resources: number
  readonly writes: number
  readonly reads: number
  readonly searches: number
  readonly mix: Mix
}

const OTHER_TYPES = Object.keys(DEFAULT_SHARDS).filter((type) => type !== 'Observation')

/** Four of five resources are Observations, as in populations of Synthea. */
export const DEFAULT_MIX: Mix = {
  creates: 2 / 3,
  versions: 1.5,
  types: { Observation: 0.8, ...Object.fromEntries(OTHER_TYPES.map((type) => [type, 0.2 / OTHER_TYPES.length])) },
  identifiers: {},
}

const MEMBERS = Object.keys(DEFAULT_MIX).join(', ')

/** Shares are decimals, whose sum is not exact. */
const TOLERANCE = 1e-6

/** Returns the defaults, overridden by the members of `input`. Throws RangeError if it is invalid. The message names the location. */
export function parseMix(input: unknown): Mix {
  if (!isObject(input)) throw new RangeError(`a mix must be an object of ${MEMBERS}`)
  const unknown = Object.keys(input).find((name) => !Object.hasOwn(DEFAULT_MIX, name))
  if (unknown !== undefined) throw new RangeError(`${unknown} is not a member of a mix. Accepted: ${MEMBERS}`)
  const { creates, versions, types, identifiers } = { ...DEFAULT_MIX, ...input } as Readonly<Record<keyof Mix, unknown>>
  if (!isShare(creates)) throw new RangeError('creates must be a number from 0 to 1, the share of creates among the writes')
  if (!(typeof versions === 'number' && versions >= 1))
    throw new RangeError('versions must be a number from 1 on, the stored versions of a resource')
  if (!isObject(types)) throw new RangeError('types must be an object of shares by resource type')
  if (!isObject(identifiers)) throw new RangeError('identifiers must be an object of numbers by resource type')
  return { creates, versions, types: parseShares(types), identifiers: parseIdentifiers(identifiers) }
}

function parseIdentifiers(identifiers: Readonly<Record<string, unknown>>): Mix['identifiers'] {
  const numbers = Object.entries(identifiers).map(([type, number]): [string, number] => {
    if (!isResourceType(type)) throw new RangeError(`identifiers.${type} is not a resource type of R4`)
    if (!(typeof number === 'number' && number >= 0))
      throw new RangeError(`identifiers.${type} must be a number from 0 on, the mean number of identifiers of a resource`)
    return [type, number]
  })
  return Object.fromEntries(numbers)
}

function parseShares(types: Readonly<Record<string, unknown>>): Mix['types'] {
  const shares = Object.entries(types).map(([type, share]): [string, number] => {
    if (!isResourceType(type)) throw new RangeError(`types.${type} is not a resource type of R4`)
    if (!isShare(share)) throw new RangeError(`types.${type} must be a number from 0 to 1, the share of the resources`)
    return [type, share]
  })
  const sum = shares.reduce((all, [, share]) => all + share, 0)
  if (Math.abs(sum - 1) > TOLERANCE) throw new RangeError(`the shares in types add up to ${Number(sum.toFixed(6))}, but must add up to 1`)
  return Object.fromEntries(shares.filter(([, share]) => share > 0))
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isShare = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 1

/** Sum of a value of each type, weighted by the shares of the types. */
export const meanOf = ({ types }: Mix, value: (type: string) => number): number =>
  Object.entries(types).reduce((sum, [type, share]) => sum + share * value(type), 0)

export const requestsOf = ({ writes, reads, searches }: Load): number => writes + reads + searches

/** Returns the type with the most resources. */
export const largestType = ({ types }: Mix): string => Object.keys(types).reduce((a, b) => (types[b]! > types[a]! ? b : a))
