/* The example's PTX as a NUL-ended text in .rodata, as a program with embedded PTX has it. */
    .section .rodata
    .balign 16
    .globl example_ptx
example_ptx:
    .incbin EXAMPLE_PTX
    .byte 0
    .section .note.GNU-stack, "", @progbits
