/** Sort values as keywords: text and numbers in one field, numbers by value, infinities included. Keywords are compared by code point. */
import { decodeDouble, encodeDouble } from '../../ports/search/doubles.ts'

export const sortText = (value: string | number): string => (typeof value === 'number' ? `n${encodeDouble(value)}` : `s${value}`)

export const sortValue = (text: string): string | number => (text.startsWith('n') ? decodeDouble(text.slice(1)) : text.slice(1))
