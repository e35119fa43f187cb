/** A second, slow matcher: it reads every stored resource, and shares no code with the first. */
import type { Tree } from '../../fixtures/resources.ts'

/** Returns the id of the member, `none`, or all ids of several. */
export function matchSlowly(stored: readonly Tree[], sent: Tree, card: Tree): string {
  const holders = new Set<string>()
  for (const each of stored) {
    const id = each.resourceType === 'Patient' ? cardPatient(each, sent, card) : cardCoverage(each, sent, card)
    if (id !== undefined) holders.add(`${id} ${each.resourceType === 'Coverage' && !hasNumber(each, card) ? (each.dependent ?? '') : ''}`)
  }
  const members = new Set<string>()
  const ids = new Set([...holders].map((holder) => holder.split(' ')[0]!))
  if (ids.size > 50) return 'none'
  for (const holder of holders) {
    const [id, dependent] = holder.split(' ') as [string, string]
    const own = successorOf(stored, id)
    if (own === undefined || own.active === false) continue
    const isDependent = dependent === '' || card.dependent === undefined || dependent === card.dependent
    if (isDependent && isPerson(own, sent)) members.add(own.id)
  }
  return members.size === 0 ? 'none' : [...members].sort().join(' ')
}

const isMb = ({ type }: Tree): boolean => type?.coding?.some(({ code }: Tree) => code === 'MB') ?? false
const same = (a: Tree, b: Tree): boolean =>
  a.value.toLowerCase() === b.value.toLowerCase() && (a.system === undefined || a.system === b.system)

function cardPatient(own: Tree, sent: Tree, card: Tree): string | undefined {
  const numbers = [...(sent.identifier ?? []), ...(card.identifier ?? [])].filter((each) => isMb(each) && each.system !== undefined)
  return (own.identifier ?? []).some((each: Tree) => numbers.some((number) => same(number, each))) ? own.id : undefined
}

const hasNumber = (own: Tree, card: Tree): boolean =>
  (own.identifier ?? []).some((each: Tree) => (card.identifier ?? []).some((number: Tree) => same(number, each)))

function cardCoverage(own: Tree, _: Tree, card: Tree): string | undefined {
  if (own.status === 'entered-in-error') return undefined
  const isCard = hasNumber(own, card) || (card.subscriberId !== undefined && card.subscriberId === own.subscriberId)
  return isCard ? own.beneficiary.reference.split('/')[1] : undefined
}

function successorOf(stored: readonly Tree[], id: string, links = 3): Tree | undefined {
  const own = stored.find((each) => each.resourceType === 'Patient' && each.id === id)
  const link = own?.link?.find(({ type }: Tree) => type === 'replaced-by')
  if (link === undefined) return own
  return links === 0 ? undefined : successorOf(stored, link.other.reference.split('/')[1], links - 1)
}

const plain = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')

const firstWord = (text: string): string => plain(text.split(/[ -]/)[0]!)

function isPerson(own: Tree, sent: Tree): boolean {
  if (own.birthDate !== sent.birthDate) return false
  if (own.gender !== undefined && sent.gender !== undefined && own.gender !== sent.gender) return false
  for (const { family, given } of own.name)
    for (const name of sent.name) {
      if (plain(family) !== plain(name.family)) continue
      const wanted: string = name.given[0]
      for (const each of given)
        if (plain(each) === plain(wanted) || firstWord(each) === plain(wanted) || plain(each) === firstWord(wanted)) return true
    }
  return false
}
