// Lets the tests of the Node package run on this one: there `twindex` means the classes of an instance.
import { register } from 'node:module'

register('./hooks.js', import.meta.url)
