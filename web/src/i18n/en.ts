import { fleet } from './en/fleet';
import { flow } from './en/flow';
import { form } from './en/form';
import { frame } from './en/frame';
import { server } from './en/server';
import { space } from './en/space';
import { work } from './en/work';

export const en = { ...frame, ...work, ...fleet, ...flow, ...form, ...space, ...server };
