/** Form that starts an export. It is shown to every person: if the server starts no export, the form shows the reason. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { type Answer, ask, noted, Refusal } from '../http.ts'
import { isTree, treesOf } from '../json.ts'
import { Issues, Problem } from './problem.ts'
import { useTask } from './task.ts'

type Props = { readonly started: () => void; readonly add: (answer: Answer) => void }
type Level = 'system' | 'patient' | 'group'

const LEVELS: Readonly<Record<Level, string>> = { system: 'Everything', patient: 'All patients', group: 'One group' }

export function ExportForm({ started, add }: Props) {
  const [level, setLevel] = useState<Level>('system')
  const [group, setGroup] = useState('')
  const [types, setTypes] = useState('')
  const [since, setSince] = useState('')
  const { error, isBusy, run } = useTask()
  const submit = (event: Event) => {
    event.preventDefault()
    run(async () => {
      await noted(ask({ method: 'GET', path: kickOffPath(level, group, types, since), headers: { prefer: 'respond-async' } }), add)
      started()
    })
  }
  const field = (name: string, value: string, set: (text: string) => void, more: object = {}) =>
    h('label', null, name, h('input', { value, onInput: (event: Event) => set((event.currentTarget as HTMLInputElement).value), ...more }))
  return h(
    'section',
    { 'aria-labelledby': 'start-export' },
    h('h2', { id: 'start-export' }, 'Start an export'),
    h(
      'form',
      { class: 'fields', onSubmit: submit },
      h(
        'label',
        null,
        'Content',
        h(
          'select',
          { value: level, onChange: (event: Event) => setLevel((event.currentTarget as HTMLSelectElement).value as Level) },
          Object.entries(LEVELS).map(([value, text]) => h('option', { key: value, value }, text)),
        ),
      ),
      level === 'group' && field('Id of the group', group, setGroup, { required: true, pattern: '[A-Za-z0-9.\\-]{1,64}' }),
      field('Types', types, setTypes, { placeholder: 'all, or Patient,Condition', spellcheck: false }),
      field('Changed since', since, setSince, { type: 'datetime-local' }),
      h('button', { type: 'submit', disabled: isBusy }, 'Start'),
    ),
    error !== undefined && h(NotStarted, { error }),
  )
}

const PATHS: Readonly<Record<Level, (group: string) => string>> = {
  system: () => '/$export',
  patient: () => '/Patient/$export',
  group: (id) => `/Group/${encodeURIComponent(id)}/$export`,
}

function kickOffPath(level: Level, group: string, types: string, since: string): string {
  const parameters = new URLSearchParams()
  const names = types.split(/[\s,]+/).filter((name) => name !== '')
  if (names.length > 0) parameters.set('_type', names.join(','))
  if (since !== '') parameters.set('_since', new Date(since).toISOString())
  const query = parameters.toString()
  return `${PATHS[level](group.trim())}${query === '' ? '' : `?${query}`}`
}

function NotStarted({ error }: { readonly error: unknown }) {
  const issues = error instanceof Refusal && isTree(error.answer.body) ? treesOf(error.answer.body.issue) : []
  if (issues.length === 0) return h(Problem, { error })
  return h('div', { class: 'problem', role: 'alert' }, h('p', null, h('strong', null, 'No export was started')), h(Issues, { issues }))
}
